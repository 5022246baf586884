// The rows of the benchmarks: what both sides do, apart from how long it takes.
#include "bench/harness.h"
#include "bench/limit_walk.h"
#include "bench/rows.h"

#include <mica/entity.h>

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

// Small, and a multiple of the number of tables of the fragmented walk.
enum { SMALL = BENCH_TABLE_COUNT * 40 };

static void run_once(const bench_side *side, void *state) {
    if (side->prepare != NULL) {
        side->prepare(state);
    }
    side->run(state);
}

static void the_two_sides_of_every_row_agree_after_each_run(void **context) {
    (void)context;
    for (int32_t i = 0; i < bench_family_count; i++) {
        for (int32_t k = 0; k < bench_families[i]->count; k++) {
            const bench_row *row = &bench_families[i]->rows[k];
            if (row->limit == NULL || row->mica->run == NULL) {
                continue;
            }
            void *mica = row->mica->set_up(SMALL);
            void *limit = row->limit->set_up(SMALL);
            assert_non_null(mica);
            assert_non_null(limit);
            for (int32_t pass = 0; pass < 3; pass++) {
                run_once(row->mica, mica);
                run_once(row->limit, limit);
                const uint64_t expected = row->limit->check(limit);
                const uint64_t actual = row->mica->check(mica);
                if (actual != expected) {
                    print_error("%s, %s, pass %d\n", row->name, row->variant, (int)pass);
                }
                assert_int_equal(actual, expected);
            }
            row->mica->tear_down(mica);
            row->limit->tear_down(limit);
        }
    }
}

static void a_row_without_a_limit_does_the_same_from_equal_states(void **context) {
    (void)context;
    for (int32_t i = 0; i < bench_family_count; i++) {
        for (int32_t k = 0; k < bench_families[i]->count; k++) {
            const bench_row *row = &bench_families[i]->rows[k];
            if (row->limit != NULL || row->mica->run == NULL) {
                continue;
            }
            void *state = row->mica->set_up(SMALL);
            void *other = row->mica->set_up(SMALL);
            assert_non_null(state);
            assert_non_null(other);
            for (int32_t pass = 0; pass < 3; pass++) {
                run_once(row->mica, state);
                run_once(row->mica, other);
                assert_int_equal(row->mica->check(state), row->mica->check(other));
            }
            row->mica->tear_down(state);
            row->mica->tear_down(other);
        }
    }
}

// The row of that name and variant of a family.
static const bench_row *row_of(const bench_family *family, const char *name, const char *variant) {
    for (int32_t k = 0; k < family->count; k++) {
        if (bench_row_is(&family->rows[k], name, variant)) {
            return &family->rows[k];
        }
    }
    fail_msg("there is no %s, %s", name, variant);
    return NULL;
}

static uint64_t check_of(const bench_side *side) {
    void *state = side->set_up(SMALL);
    assert_non_null(state);
    run_once(side, state);
    const uint64_t checksum = side->check(state);
    side->tear_down(state);
    return checksum;
}

static void a_tree_in_which_little_has_changed_ends_as_one_that_is_all_computed(void **context) {
    (void)context;
    const uint64_t expected = check_of(row_of(&bench_tree, "tree/matrix", "main")->mica);
    assert_int_equal(check_of(row_of(&bench_tree, "tree/unchanged", "main")->mica), expected);
    assert_int_equal(check_of(row_of(&bench_tree, "tree/unchanged", "one in a hundred")->mica), expected);
}

static void entities_created_in_a_new_world_are_those_of_one_that_held_as_many(void **context) {
    (void)context;
    assert_int_equal(check_of(row_of(&bench_create, "create/one/fresh", "main")->mica),
                     check_of(row_of(&bench_create, "create/one", "main")->mica));
    assert_int_equal(check_of(row_of(&bench_create, "create/bulk/fresh", "main")->mica),
                     check_of(row_of(&bench_create, "create/bulk", "main")->mica));
}

static void a_check_tells_a_run_more_from_a_run_less(void **context) {
    (void)context;
    // Walks change what they visit, so one more run must show.
    const bench_family *const walks[] = {&bench_walk, &bench_walk_mixes, &bench_walk_pools};
    for (size_t i = 0; i < sizeof walks / sizeof walks[0]; i++) {
        for (int32_t k = 0; k < walks[i]->count; k++) {
            const bench_row *row = &walks[i]->rows[k];
            void *state = row->mica->set_up(SMALL);
            assert_non_null(state);
            const uint64_t before = row->mica->check(state);
            run_once(row->mica, state);
            assert_int_not_equal(row->mica->check(state), before);
            row->mica->tear_down(state);
        }
    }
}

static void clearing_leaves_nobody(void **context) {
    (void)context;
    for (int32_t k = 0; k < bench_clear.count; k++) {
        const bench_side *side = bench_clear.rows[k].mica;
        void *state = side->set_up(SMALL);
        assert_non_null(state);
        side->prepare(state);
        const uint64_t full = side->check(state);
        side->run(state);
        const uint64_t empty = side->check(state);
        assert_int_not_equal(full, empty);
        run_once(side, state);
        assert_int_equal(side->check(state), empty);
        side->tear_down(state);
    }
}

static void worlds_that_are_weighed_hold_what_was_put_in(void **context) {
    (void)context;
    for (int32_t k = 0; k < bench_memory.count; k++) {
        const bench_row *row = &bench_memory.rows[k];
        void *nobody = row->mica->set_up(0);
        void *many = row->mica->set_up(100000);
        assert_non_null(nobody);
        assert_non_null(many);
        // Eight bytes an entity are its slot.
        assert_true(row->mica->weigh(many) >= row->mica->weigh(nobody) + 800000);
        row->mica->tear_down(nobody);
        row->mica->tear_down(many);
    }
}

static void arrays_that_grow_are_weighed_with_the_room_they_leave(void **context) {
    (void)context;
    const bench_side *side = row_of(&bench_memory, "memory/PV", "main")->limit;
    const uint64_t entity = 8 + sizeof(mica_entity) + 2 * 12; // slot, handle, two values
    const int64_t counts[] = {64, 65, 100000};
    const uint64_t capacities[] = {64, 128, 131072};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        void *state = side->set_up(counts[i]);
        assert_non_null(state);
        assert_int_equal(side->weigh(state), capacities[i] * entity);
        side->tear_down(state);
    }
}

static bool is_same_row(const bench_row *a, const bench_row *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->variant, b->variant) == 0 && a->n == b->n;
}

static void no_two_rows_have_the_same_name_variant_and_size(void **context) {
    (void)context;
    for (int32_t i = 0; i < bench_family_count; i++) {
        for (int32_t k = 0; k < bench_families[i]->count; k++) {
            for (int32_t other = 0; other < k; other++) {
                assert_false(is_same_row(&bench_families[i]->rows[k], &bench_families[i]->rows[other]));
            }
        }
    }
}

static void every_name_has_a_main_variant(void **context) {
    (void)context;
    for (int32_t i = 0; i < bench_family_count; i++) {
        for (int32_t k = 0; k < bench_families[i]->count; k++) {
            bool found = false;
            for (int32_t other = 0; other < bench_families[i]->count && !found; other++) {
                const bench_row *row = &bench_families[i]->rows[other];
                found = strcmp(row->name, bench_families[i]->rows[k].name) == 0 && strcmp(row->variant, "main") == 0;
            }
            assert_true(found);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_two_sides_of_every_row_agree_after_each_run),
        cmocka_unit_test(a_row_without_a_limit_does_the_same_from_equal_states),
        cmocka_unit_test(a_tree_in_which_little_has_changed_ends_as_one_that_is_all_computed),
        cmocka_unit_test(entities_created_in_a_new_world_are_those_of_one_that_held_as_many),
        cmocka_unit_test(a_check_tells_a_run_more_from_a_run_less),
        cmocka_unit_test(clearing_leaves_nobody),
        cmocka_unit_test(worlds_that_are_weighed_hold_what_was_put_in),
        cmocka_unit_test(arrays_that_grow_are_weighed_with_the_room_they_leave),
        cmocka_unit_test(no_two_rows_have_the_same_name_variant_and_size),
        cmocka_unit_test(every_name_has_a_main_variant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
