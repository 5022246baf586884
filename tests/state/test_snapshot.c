// Snapshots: exact in all that a world's store holds, whatever happened before and after; shared where nothing was
// written; all or nothing.
#include "state/state.h"
#include "state/state_world.h"

#include <stdlib.h>

// A world is as it was, and goes on as it went on then: the dump of after `count` more steps is the same, too.
typedef struct moment {
    mica_snapshot *snapshot;
    state_dump dump;
    state_dump later; // after 1,000 steps more
} moment;

static void take_moment(state_world *w, moment *m, uint64_t seed) {
    m->snapshot = mica_snapshot_take(w->world, NULL);
    assert_non_null(m->snapshot);
    m->dump = dump_world(w->world);
    state_go_on(w, seed, 1000);
    m->later = dump_world(w->world);
}

static void check_moment(state_world *w, moment *m, uint64_t seed) {
    assert_int_equal(mica_snapshot_restore(m->snapshot, w->world, NULL), MICA_OK);
    state_dump dump = dump_world(w->world);
    assert_dumps_equal(&dump, &m->dump);
    dump_free(&dump);
    state_go_on(w, seed, 1000);
    dump = dump_world(w->world);
    assert_dumps_equal(&dump, &m->later);
    dump_free(&dump);
}

static void free_moment(moment *m) {
    mica_snapshot_release(m->snapshot);
    dump_free(&m->dump);
    dump_free(&m->later);
}

enum { MOMENT_COUNT = 6 };

static void what_follows_a_restore_is_what_followed_the_snapshot(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        owned_alive = 0;
        state_world w;
        state_world_open(&w, NULL);
        test_random random = {.state = seed};
        moment moments[MOMENT_COUNT];
        for (uint32_t i = 0; i < MOMENT_COUNT; i++) {
            state_go_on(&w, test_random_next(&random), test_random_below(&random, 1500));
            take_moment(&w, &moments[i], seed * 100 + i);
        }
        for (uint32_t i = 0; i < 3 * MOMENT_COUNT; i++) {
            const uint32_t chosen = test_random_below(&random, MOMENT_COUNT);
            check_moment(&w, &moments[chosen], seed * 100 + chosen);
        }
        for (uint32_t i = 0; i < MOMENT_COUNT; i++) {
            free_moment(&moments[i]);
        }
        mica_world_destroy(w.world);
        assert_int_equal(owned_alive, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_a_restore_is_what_followed_the_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
