// World matrices are the same on any number of threads, whatever lies in which table.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/jobs.h"
#include "support/test_flag.h"
#include "support/test_random.h"
#include "support/test_run.h"
#include "world/world.h"

#include <mica/mica.h>

MICA_TAG(Left);
MICA_TAG(Right);

enum {
    ENTITIES = 9000, // levels and tables without parents have more rows than a piece
    ROUNDS = 3,
    THREADS_MOST = 8
};

static void fail_if(mica_result result) {
    if (result != MICA_OK) {
        fail_msg("%s", mica_last_error());
    }
}

static mica_transform random_pose(test_random *random) {
    static const float turns[4][4] = {{0, 0, 0, 1}, {0.6f, 0, 0, 0.8f}, {0, 0.8f, 0, 0.6f}, {0.5f, 0.5f, 0.5f, 0.5f}};
    mica_transform pose = MICA_TRANSFORM_IDENTITY;
    for (int32_t i = 0; i < 3; i++) {
        pose.position[i] = (float)test_random_below(random, 1000) / 8;
    }
    const uint32_t turn = test_random_below(random, 4);
    for (int32_t i = 0; i < 4; i++) {
        pose.rotation[i] = turns[turn][i];
    }
    return pose;
}

// Entities of several tables: below others or not, with and without a pose, with and without a place for their matrix.
static void spawn_random(mica_world *world, mica_entity *entities, test_random *random) {
    for (int32_t i = 0; i < ENTITIES; i++) {
        entities[i] = mica_create(world);
        if (test_random_below(random, 50) != 0) {
            const mica_transform pose = random_pose(random);
            fail_if(mica_set_from(world, entities[i], mica_transform, &pose));
        }
        if (test_random_below(random, 50) == 0) {
            mica_remove(world, entities[i], mica_world_transform);
        }
        if (test_random_below(random, 2) == 0) {
            fail_if(test_random_below(random, 2) == 0 ? mica_add(world, entities[i], Left)
                                                      : mica_add(world, entities[i], Right));
        }
    }
}

// Half of the entities get a parent among the first ones, or among all that came before.
static void link_random(mica_world *world, const mica_entity *entities, test_random *random) {
    for (uint32_t i = 1; i < ENTITIES; i++) {
        if (test_random_below(random, 2) == 0) {
            const uint32_t among = test_random_below(random, 2) == 0 && i > 20 ? 20 : i;
            fail_if(mica_set_parent(world, entities[i], entities[test_random_below(random, among)]));
        }
    }
}

// What worlds that only differ in threads come to: a checksum a round.
static void resolve_rounds(int32_t thread_count, bool has_links, uint64_t checksums[ROUNDS]) {
    mica_world *world =
        mica_world_create(&(mica_world_def){.thread_count = thread_count, .always_parallel = thread_count > 1});
    assert_non_null(world);
    mica_entity *entities = calloc(ENTITIES, sizeof *entities);
    assert_non_null(entities);
    test_random random = {5};
    spawn_random(world, entities, &random);
    for (int32_t round = 0; round < ROUNDS; round++) {
        if (has_links) {
            link_random(world, entities, &random);
        }
        for (uint32_t i = 0; i < ENTITIES; i += 7) {
            mica_transform *pose = mica_get_write(world, entities[i], mica_transform);
            if (pose != NULL) {
                *pose = random_pose(&random);
            }
        }
        fail_if(mica_transform_resolve(world));
        fail_if(mica_world_validate(world));
        fail_if(mica_world_checksum(world, NULL, &checksums[round]));
    }
    free(entities);
    mica_world_destroy(world);
}

static void assert_same_on_any_number_of_threads(bool has_links) {
    uint64_t alone[ROUNDS];
    resolve_rounds(1, has_links, alone);
    assert_true(alone[0] != alone[1]);
    for (int32_t thread_count = 2; thread_count <= THREADS_MOST; thread_count *= 2) {
        uint64_t beside[ROUNDS];
        resolve_rounds(thread_count, has_links, beside);
        assert_memory_equal(alone, beside, sizeof alone);
    }
}

static void levels_are_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    assert_same_on_any_number_of_threads(true);
}

static void what_was_never_linked_is_the_same_on_any_number_of_threads(void **state) {
    (void)state;
    assert_same_on_any_number_of_threads(false);
}

// Beside another system of its batch.
typedef struct beside {
    mica_world *world;
    int32_t runs;
} beside;

static void count_run(mica_run *run) {
    ((beside *)mica_run_user(run))->runs++;
}

static void systems_resolve_beside_others(void **state) {
    (void)state;
    mica_world *world = mica_world_create(&(mica_world_def){.thread_count = 3, .always_parallel = true});
    beside test = {.world = world};
    assert_int_not_equal(mica_transform_system_add(world).id, 0);
    assert_int_not_equal(mica_system_add(world, &(mica_system_def){.name = "count",
                                                                   .stage = MICA_RESOLVE,
                                                                   .run = count_run,
                                                                   .user = &test,
                                                                   .query = {mica_read(mica_transform)}})
                             .id,
                         0);
    const mica_transform pose = {{1, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    mica_entity above = MICA_NULL;
    for (int32_t i = 0; i < 100; i++) {
        const mica_entity entity = mica_create(world);
        fail_if(mica_set_from(world, entity, mica_transform, &pose));
        if (i > 0) {
            fail_if(mica_set_parent(world, entity, above));
        }
        above = entity;
    }
    for (int32_t i = 1; i <= 3; i++) {
        fail_if(mica_world_step(world, 1));
        assert_int_equal(test.runs, i);
        assert_true(mica_get(world, above, mica_world_transform)->m[12] == 100);
    }
    mica_world_destroy(world);
}

// The main thread helps to resolve when "show" becomes ready, and leaves that although there is more to do and all
// others wait for "show". A page of each chunk's poses is closed, so that whoever comes to a piece is held up there.
static struct {
    pthread_t main_thread;
    const mica_jobs *jobs;
    uintptr_t page_size;
    uint32_t resolve_has_begun, lead_has_begun, helps, shown; // atomic
    uint32_t helped_count;                                    // pieces that the main thread has come to before
    bool is_void;                                             // the main thread has taken "resolve" itself
} held_up;

static bool is_main_thread(void) {
    return pthread_equal(pthread_self(), held_up.main_thread) != 0;
}

static void hold_up(int number, siginfo_t *fault, void *context) {
    (void)number;
    (void)context;
    const uintptr_t page = (uintptr_t)fault->si_addr / held_up.page_size * held_up.page_size;
    if (mprotect((void *)page, held_up.page_size, PROT_READ | PROT_WRITE) != 0) {
        signal(SIGSEGV, SIG_DFL); // a fault of another kind
    } else if (!is_main_thread()) {
        test_flag_wait(&held_up.shown);
    } else if (!test_flag_is_raised(&held_up.shown)) {
        held_up.helped_count++;
        test_flag_raise(&held_up.helps);
        while (!mi_jobs_is_wanted(held_up.jobs)) {
            sched_yield();
        }
    }
}

static void resolve_elsewhere(mica_run *run) {
    test_flag_raise(&held_up.resolve_has_begun);
    if (is_main_thread()) {
        held_up.is_void = true;
        test_flag_raise(&held_up.helps);
    } else if (mica_run_tick(run) > 0) {
        test_flag_wait(&held_up.lead_has_begun); // its thread would otherwise help here
        must(run, mica_transform_resolve(mica_run_world(run)) == MICA_OK);
    }
}

// There are two of it. The one that the main thread runs waits until it could only help; the other one, for that.
static void lead(mica_run *run) {
    if (mica_run_tick(run) == 0) {
        return;
    }
    if (is_main_thread()) {
        test_flag_wait(&held_up.resolve_has_begun);
        test_flag_wait(&held_up.lead_has_begun);
    } else {
        test_flag_raise(&held_up.lead_has_begun);
        test_flag_wait(&held_up.helps);
    }
}

static void show(mica_run *run) {
    (void)run;
    test_flag_raise(&held_up.shown);
}

static void add_system(mica_world *world, const mica_system_def *def) {
    assert_int_not_equal(mica_system_add(world, def).id, 0);
}

// Returns how many there are.
static uint32_t close_pages(mica_query *poses) {
    uint32_t count = 0;
    mica_each (poses, it) {
        const uintptr_t first = (uintptr_t)mica_read_of(it, mica_transform);
        const uintptr_t page = (first + held_up.page_size - 1) / held_up.page_size * held_up.page_size;
        assert_true(page + held_up.page_size <= first + (uintptr_t)it.count * sizeof(mica_transform));
        assert_int_equal(mprotect((void *)page, held_up.page_size, PROT_NONE), 0);
        count++;
    }
    return count;
}

static void the_main_thread_leaves_what_it_helps_to_resolve(void **state) {
    (void)state;
    mica_world *world = mica_world_create(&(mica_world_def){.thread_count = 3, .always_parallel = true});
    add_system(world, &(mica_system_def){.name = "resolve",
                                         .run = resolve_elsewhere,
                                         .query = {mica_read(mica_transform), mica_write(mica_world_transform)}});
    add_system(world, &(mica_system_def){.name = "lead", .run = lead, .access = {mica_writes(Left)}});
    add_system(world, &(mica_system_def){.name = "lead too", .run = lead, .access = {mica_writes(Right)}});
    add_system(world,
               &(mica_system_def){
                   .name = "show", .run = show, .access = {mica_reads(Left), mica_reads(Right)}, .main_thread = true});
    mica_entity last = MICA_NULL;
    for (int32_t i = 0; i < ENTITIES; i++) {
        last = mica_spawn(world, mica_value_of(mica_transform, {{(float)i, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}}));
    }
    mica_query *poses = mica_query_create(world, (const mica_term[]){mica_read(mica_transform)}, 1);
    struct sigaction before;
    struct sigaction during = {.sa_flags = SA_SIGINFO, .sa_sigaction = hold_up};
    assert_int_equal(sigaction(SIGSEGV, &during, &before), 0);
    for (int32_t seen = 0; seen < 3; seen += !held_up.is_void) {
        memset(&held_up, 0, sizeof held_up);
        held_up.main_thread = pthread_self();
        held_up.jobs = world->jobs;
        held_up.page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
        const bool is_first = mica_world_tick(world) == 0; // its systems run in order
        assert_true(is_first || close_pages(poses) > 4);
        fail_if(mica_world_step(world, 1));
        assert_int_equal(held_up.helped_count, is_first || held_up.is_void ? 0 : 1);
    }
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_true(mica_get(world, last, mica_world_transform)->m[12] == ENTITIES - 1);
    mica_query_release(poses);
    mica_world_destroy(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_the_same_on_any_number_of_threads),
        cmocka_unit_test(what_was_never_linked_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(systems_resolve_beside_others),
        cmocka_unit_test(the_main_thread_leaves_what_it_helps_to_resolve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
