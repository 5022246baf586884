// Counting needs a run by itself: made ready as for a timed one, and told from everything around it by a function that
// no compiler may merge with its caller.
//
// The run before the counted one does what is done once alone: symbols are bound, ids are found, memory is taken. A
// variant that is timed at several sizes is counted at one, since counts do not change with the size but for misses of
// caches, and these are simulated as small as the sizes are.
#include "once.h"

#include <inttypes.h>
#include <string.h>

__attribute__((noinline)) void bench_once_counted(const bench_side *side, void *state) {
    side->run(state);
    // Without it the call above would be the last thing done here, and become a jump out of the function.
    __asm__ volatile("" ::: "memory");
}

static bool can_be_counted(const bench_row *row) {
    return row->mica->run != NULL && !row->mica->has_threads && !bench_row_is_apart(row);
}

bool bench_once_find(const bench_family *const *families, int32_t family_count, const char *name, const char *variant,
                     bench_row *found) {
    const bench_row *largest = NULL;
    for (int32_t i = 0; i < family_count; i++) {
        for (int32_t k = 0; k < families[i]->count; k++) {
            const bench_row *row = &families[i]->rows[k];
            if (can_be_counted(row) && bench_row_is(row, name, variant) && (largest == NULL || row->n > largest->n)) {
                largest = row;
            }
        }
    }
    if (largest == NULL) {
        return false;
    }
    *found = bench_row_resized(largest, largest->n < BENCH_ONCE_SIZE ? largest->n : BENCH_ONCE_SIZE);
    return true;
}

void bench_once_list(const bench_family *const *families, int32_t family_count, FILE *out) {
    for (int32_t i = 0; i < family_count; i++) {
        for (int32_t k = 0; k < families[i]->count; k++) {
            const bench_row *row = &families[i]->rows[k];
            bench_row counted;
            if (bench_variant_is_first(families[i]->rows, k) &&
                bench_once_find(families, family_count, row->name, row->variant, &counted)) {
                fprintf(out, "%s\t%s\t%" PRId64 "\t%" PRId64 "\t%s\n", counted.name, counted.variant, counted.n,
                        counted.operations, counted.limit != NULL ? "both" : "mica");
            }
        }
    }
}

bench_status bench_once_do(const bench_side *side, int64_t n) {
    void *state = side->set_up(n);
    if (state == NULL) {
        return BENCH_SET_UP_FAILED;
    }
    for (int32_t pass = 0; pass < 2; pass++) {
        if (side->prepare != NULL) {
            side->prepare(state);
        }
        if (pass == 0) {
            side->run(state);
        } else {
            bench_once_counted(side, state);
        }
    }
    side->tear_down(state);
    return BENCH_DONE;
}
