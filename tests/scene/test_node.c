// The lists of children by themselves: marks that run out, records far apart, and damage that validation finds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "scene/node.h"
#include "support/test_allocator.h"

typedef struct fixture {
    test_allocator allocator;
    mi_heap heap;
    mi_nodes nodes;
} fixture;

static fixture shared;

static int set_up(void **state) {
    fixture *of = &shared;
    memset(of, 0, sizeof(*of));
    test_allocator_init(&of->allocator);
    const mica_allocator hooks = test_allocator_hooks(&of->allocator);
    mi_heap_init(&of->heap, &hooks);
    *state = of;
    return 0;
}

static int tear_down(void **state) {
    fixture *of = *state;
    mi_nodes_free(&of->nodes, &of->heap);
    test_allocator_finish(&of->allocator);
    return 0;
}

static void link(fixture *of, uint32_t child, uint32_t parent) {
    assert_true(mi_nodes_reserve(&of->nodes, &of->heap, child));
    assert_true(mi_nodes_reserve(&of->nodes, &of->heap, parent));
    mi_nodes_link(&of->nodes, child, parent);
    assert_null(mi_nodes_validate(&of->nodes));
}

static void only_pages_that_links_touch_are_made(void **state) {
    fixture *of = *state;
    assert_null(mi_nodes_find(&of->nodes, 1));
    link(of, 5 * MI_NODE_PAGE_SIZE, 9 * MI_NODE_PAGE_SIZE + 3);
    assert_non_null(mi_nodes_find(&of->nodes, 0)); // of the roots
    assert_non_null(mi_nodes_find(&of->nodes, 6 * MI_NODE_PAGE_SIZE - 1));
    assert_null(mi_nodes_find(&of->nodes, 6 * MI_NODE_PAGE_SIZE));
    assert_null(mi_nodes_find(&of->nodes, 100 * MI_NODE_PAGE_SIZE));
    assert_int_equal(of->nodes.linked_count, 1);
    assert_int_equal(of->nodes.parent_count, 1);
    mi_nodes_clear(&of->nodes, &of->heap);
    assert_null(mi_nodes_find(&of->nodes, 5 * MI_NODE_PAGE_SIZE));
    link(of, 1, 2);
    assert_int_equal(of->nodes.linked_count, 1);
}

static void roots_with_children_are_listed_and_no_others(void **state) {
    fixture *of = *state;
    link(of, 1, 2);
    link(of, 3, 4);
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->first_child, 2);
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->last_child, 4);
    link(of, 2, 3); // 2 and its child go below 4
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->first_child, 4);
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->child_count, 1);
    link(of, 2, 0);
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->child_count, 2);
    link(of, 1, 0);
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->child_count, 1);
    link(of, 3, 0);
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->child_count, 0);
    assert_int_equal(of->nodes.linked_count, 0);
}

static void lifted_children_take_the_place_of_their_parent(void **state) {
    fixture *of = *state;
    for (uint32_t i = 2; i <= 4; i++) {
        link(of, i, 1);
    }
    link(of, 5, 3);
    link(of, 6, 3);
    link(of, 7, 5);
    mi_nodes_lift_children(&of->nodes, 3);
    assert_null(mi_nodes_validate(&of->nodes));
    static const uint32_t order[] = {2, 5, 6, 4, 0};
    uint32_t at = mi_nodes_at(&of->nodes, 1)->first_child;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        assert_int_equal(at, order[i]);
        at = at == 0 ? 0 : mi_nodes_at(&of->nodes, at)->next;
    }
    mi_nodes_lift_children(&of->nodes, 1);
    assert_null(mi_nodes_validate(&of->nodes));
    assert_int_equal(mi_nodes_at(&of->nodes, 0)->first_child, 5); // the one child with a child
    assert_int_equal(mi_nodes_at(&of->nodes, 5)->parent, 0);
    mi_nodes_lift_children(&of->nodes, 7); // without children: taken out
    assert_null(mi_nodes_validate(&of->nodes));
    assert_int_equal(of->nodes.linked_count, 0);
}

static void marks_start_again_when_they_run_out(void **state) {
    fixture *of = *state;
    link(of, 1, 2);
    assert_int_equal(mi_nodes_marks(&of->nodes, 10), 1);
    assert_int_equal(mi_nodes_marks(&of->nodes, 5), 11);
    mi_nodes_at(&of->nodes, 1)->mark = 15;
    of->nodes.mark_used = UINT32_MAX - 4;
    assert_int_equal(mi_nodes_marks(&of->nodes, 4), UINT32_MAX - 3);
    assert_int_equal(mi_nodes_marks(&of->nodes, 20), 1);
    assert_int_equal(mi_nodes_at(&of->nodes, 1)->mark, 0);
}

static void no_memory_leaves_what_was_there(void **state) {
    fixture *of = *state;
    for (uint64_t n = 1;; n++) {
        test_allocator_fail_at(&of->allocator, n);
        const bool done = mi_nodes_reserve(&of->nodes, &of->heap, 7 * MI_NODE_PAGE_SIZE);
        const bool failed = test_allocator_fail_stop(&of->allocator);
        assert_int_equal(done, !failed);
        assert_null(mi_nodes_validate(&of->nodes));
        if (!failed) {
            break;
        }
        mi_nodes_free(&of->nodes, &of->heap);
    }
    assert_non_null(mi_nodes_find(&of->nodes, 7 * MI_NODE_PAGE_SIZE));
}

static void validation_finds_damage(void **state) {
    fixture *of = *state;
    for (uint32_t i = 2; i <= 5; i++) {
        link(of, i, i < 5 ? 1 : 4);
    }
    uint32_t *const places[] = {
        &mi_nodes_at(&of->nodes, 2)->parent,
        &mi_nodes_at(&of->nodes, 3)->previous,
        &mi_nodes_at(&of->nodes, 2)->next,
        &mi_nodes_at(&of->nodes, 1)->first_child,
        &mi_nodes_at(&of->nodes, 1)->last_child,
        &mi_nodes_at(&of->nodes, 1)->child_count,
        &mi_nodes_at(&of->nodes, 0)->first_child,
        &of->nodes.linked_count,
        &of->nodes.parent_count,
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const uint32_t kept = *places[i];
        *places[i] = kept == 5 ? 4 : 5;
        assert_non_null(mi_nodes_validate(&of->nodes));
        *places[i] = kept;
        assert_null(mi_nodes_validate(&of->nodes));
    }
    // 4 and 5 are each other's parents, out of reach of any root.
    mi_nodes_link(&of->nodes, 4, 0);
    mi_nodes_link(&of->nodes, 4, 5);
    assert_non_null(mi_nodes_validate(&of->nodes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_pages_that_links_touch_are_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(roots_with_children_are_listed_and_no_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lifted_children_take_the_place_of_their_parent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_start_again_when_they_run_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory_leaves_what_was_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(validation_finds_damage, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
