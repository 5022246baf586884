// The rows of the benchmarks: what both sides do, apart from how long it takes.
#include "bench/harness.h"
#include "bench/limit_walk.h"
#include "bench/rows.h"

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
            if (row->limit == NULL) {
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
        cmocka_unit_test(a_check_tells_a_run_more_from_a_run_less),
        cmocka_unit_test(clearing_leaves_nobody),
        cmocka_unit_test(worlds_that_are_weighed_hold_what_was_put_in),
        cmocka_unit_test(no_two_rows_have_the_same_name_variant_and_size),
        cmocka_unit_test(every_name_has_a_main_variant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
