// The pool of threads: everything that is started runs once, waits return, nobody runs what is not his, and nothing is
// left when a pool ends.
//
// Threads rest at random moments (test_rest), and there are more of them than cores, so that a run goes through many
// interleavings. pthread_create and pthread_join stand here for those of the system, to count threads and to refuse
// them.
#define _GNU_SOURCE // RTLD_NEXT

#include "base/atomic.h"
#include "base/jobs.h"
#include "base/os.h"

#include "support/test_allocator.h"
#include "support/test_random.h"

#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// Threads.

static int32_t created_count, joined_count;
static int32_t refused_from = INT32_MAX; // the thread of that number, counted from 0, and those after it are refused

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_create");
        memcpy(&real, &symbol, sizeof(real));
    }
    if (__atomic_load_n(&created_count, __ATOMIC_SEQ_CST) >= refused_from) {
        return 11; // EAGAIN
    }
    __atomic_fetch_add(&created_count, 1, __ATOMIC_SEQ_CST);
    return real(thread, attributes, function, argument);
}

int pthread_join(pthread_t thread, void **result) {
    static int (*real)(pthread_t, void **);
    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_join");
        memcpy(&real, &symbol, sizeof(real));
    }
    __atomic_fetch_add(&joined_count, 1, __ATOMIC_SEQ_CST);
    return real(thread, result);
}

static int set_up(void **state) {
    (void)state;
    created_count = joined_count = 0;
    refused_from = INT32_MAX;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return created_count == joined_count ? 0 : -1;
}

static _Thread_local test_random rest_random;

static void test_rest(void) {
    if (rest_random.state == 0) {
        rest_random.state = (uint64_t)(uintptr_t)&rest_random;
    }
    if (test_random_below(&rest_random, 8) == 0) {
        sched_yield();
    }
}

static void add(uint32_t *sum, uint32_t value) {
    __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

static mica_jobs *make_pool(int32_t thread_count) {
    mica_jobs *jobs = mica_jobs_create(&(mica_jobs_def){.thread_count = thread_count});
    assert_non_null(jobs);
    return jobs;
}

// A job that adds its value.

typedef struct adder {
    mi_job job;
    uint32_t *sum;
    uint32_t value;
    uint32_t run_count; // not atomic: run twice at the same time is a race
} adder;

static void add_value(mi_job *job) {
    adder *a = (adder *)job;
    a->run_count++;
    test_rest();
    add(a->sum, a->value);
}

static void run_adders(mica_jobs *jobs, uint32_t count) {
    adder *adders = calloc(count, sizeof(*adders));
    assert_non_null(adders);
    uint32_t sum = 0, expected = 0;
    mi_job_group group = {0};
    for (uint32_t i = 0; i < count; i++) {
        adders[i] = (adder){.job.function = add_value, .sum = &sum, .value = i};
        expected += i;
        mi_jobs_start(jobs, &group, &adders[i].job);
    }
    mi_jobs_wait(jobs, &group);
    assert_int_equal(sum, expected);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(adders[i].run_count, 1);
    }
    free(adders);
}

static void a_group_has_run_when_it_was_waited_for(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 8; threads++) {
        mica_jobs *jobs = make_pool(threads);
        assert_int_equal(mica_jobs_thread_count(jobs), threads);
        for (int round = 0; round < 20; round++) {
            run_adders(jobs, 100);
        }
        mica_jobs_release(jobs);
    }
}

static void an_empty_group_is_waited_for_at_once(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(3);
    mi_job_group group = {0};
    mi_jobs_wait(jobs, &group);
    mi_jobs_wait(jobs, &group);
    mica_jobs_release(jobs);
}

static void a_job_that_is_run_has_run_and_is_one_of_its_group(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads++) {
        mica_jobs *jobs = make_pool(threads);
        uint32_t sum = 0;
        mi_job_group group = {0};
        adder first = {.job.function = add_value, .sum = &sum, .value = 1};
        adder second = {.job.function = add_value, .sum = &sum, .value = 2};
        mi_jobs_run(jobs, &group, &first.job);
        assert_int_equal(first.run_count, 1);
        assert_ptr_equal(first.job.group, &group);
        mi_jobs_start(jobs, &group, &second.job);
        mi_jobs_wait(jobs, &group);
        assert_int_equal(sum, 3);
        mica_jobs_release(jobs);
    }
}

static void a_group_is_used_again_after_it_was_waited_for(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(3);
    mi_job_group group = {0};
    uint32_t sum = 0;
    for (int round = 0; round < 100; round++) {
        adder a = {.job.function = add_value, .sum = &sum, .value = 1};
        mi_jobs_start(jobs, &group, &a.job);
        mi_jobs_wait(jobs, &group);
    }
    assert_int_equal(sum, 100);
    mica_jobs_release(jobs);
}

static void more_jobs_than_there_is_room_for_run_too(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        mica_jobs *jobs = make_pool(threads);
        run_adders(jobs, 5000);
        mica_jobs_release(jobs);
    }
}

static void groups_are_waited_for_in_any_order(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(3), *others = make_pool(2);
    uint32_t sums[3] = {0};
    mi_job_group groups[3] = {{0}};
    adder adders[3][10];
    mica_jobs *const pools[] = {jobs, others, jobs};
    for (int g = 0; g < 3; g++) {
        for (int i = 0; i < 10; i++) {
            adders[g][i] = (adder){.job.function = add_value, .sum = &sums[g], .value = 1};
            mi_jobs_start(pools[g], &groups[g], &adders[g][i].job);
        }
    }
    static const int order[] = {0, 2, 1};
    for (int i = 0; i < 3; i++) {
        mi_jobs_wait(pools[order[i]], &groups[order[i]]);
        assert_int_equal(sums[order[i]], 10);
    }
    mica_jobs_release(others);
    mica_jobs_release(jobs);
}

// Making and ending.

static void thread_counts_are_taken_or_refused(void **state) {
    (void)state;
    static const int32_t all[] = {0, MICA_THREADS_ALL};
    for (int i = 0; i < 2; i++) {
        mica_jobs *jobs = make_pool(all[i]);
        assert_int_equal(mica_jobs_thread_count(jobs), mi_os_core_count());
        mica_jobs_release(jobs);
    }
    mica_jobs *jobs = mica_jobs_create(NULL);
    assert_int_equal(mica_jobs_thread_count(jobs), mi_os_core_count());
    mica_jobs_release(jobs);
    static const int32_t wrong[] = {-2, MICA_THREADS_MAX + 1, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        assert_null(mica_jobs_create(&(mica_jobs_def){.thread_count = wrong[i]}));
        assert_int_equal(mica_last_result(), MICA_INVALID);
    }
    assert_int_equal(mica_jobs_thread_count(NULL), 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void a_pool_of_one_creates_no_thread(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(1);
    run_adders(jobs, 100);
    assert_false(mi_jobs_has_idle(jobs));
    mica_jobs_release(jobs);
    assert_int_equal(created_count, 0);
    jobs = make_pool(4);
    assert_int_equal(created_count, 3);
    mica_jobs_release(jobs);
    assert_int_equal(joined_count, 3);
}

static void the_last_reference_ends_the_pool(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(3);
    assert_ptr_equal(mica_jobs_retain(jobs), jobs);
    mica_jobs_release(jobs);
    assert_int_equal(joined_count, 0);
    run_adders(jobs, 50);
    mica_jobs_release(jobs);
    assert_int_equal(joined_count, 2);
    mica_jobs_release(NULL);
    assert_null(mica_jobs_retain(NULL));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void a_pool_without_memory_is_not_made_and_leaves_nothing(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_jobs_def def = {.thread_count = 3, .allocator = test_allocator_hooks(&allocator)};
    uint64_t n = 1;
    for (;; n++) {
        test_allocator_fail_at(&allocator, n);
        mica_jobs *jobs = mica_jobs_create(&def);
        if (!test_allocator_fail_stop(&allocator)) {
            assert_non_null(jobs);
            run_adders(jobs, 20);
            mica_jobs_release(jobs);
            break;
        }
        assert_null(jobs);
        assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
        assert_int_equal(allocator.live_count, 0);
        assert_int_equal(created_count, 0);
    }
    assert_true(n > 3);
    test_allocator_finish(&allocator);
    const mica_jobs_def half = {.allocator = {.release = def.allocator.release}};
    assert_null(mica_jobs_create(&half));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

static void a_thread_that_cannot_be_created_ends_those_that_were(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    const mica_jobs_def def = {.thread_count = 8, .allocator = test_allocator_hooks(&allocator)};
    for (int32_t n = 0; n < 7; n++) {
        created_count = joined_count = 0;
        refused_from = n;
        assert_null(mica_jobs_create(&def));
        assert_int_equal(mica_last_result(), MICA_LIMIT);
        assert_int_equal(created_count, n);
        assert_int_equal(joined_count, n);
        assert_int_equal(allocator.live_count, 0);
    }
    refused_from = INT32_MAX;
    test_allocator_finish(&allocator);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { LIFE_COUNT = 500 };
#else
enum { LIFE_COUNT = 2000 };
#endif

static void pools_that_live_for_two_frames_all_end(void **state) {
    (void)state;
    for (int life = 0; life < LIFE_COUNT; life++) {
        mica_jobs *jobs = make_pool(8);
        for (int frame = 0; frame < 2; frame++) {
            uint32_t sum = 0;
            mi_job_group group = {0};
            adder a = {.job.function = add_value, .sum = &sum, .value = 3};
            mi_jobs_start(jobs, &group, &a.job);
            mi_jobs_wait(jobs, &group);
            assert_int_equal(sum, 3);
        }
        mica_jobs_release(jobs);
    }
    assert_int_equal(created_count, 7 * LIFE_COUNT);
    assert_int_equal(joined_count, 7 * LIFE_COUNT);
}

// Jobs in jobs. Every job checks where it runs: on top of nothing, or of one that it comes from; on a thread from
// outside only if that one has brought it in; and with a number that no other thread has in the work of that caller.

enum { NUMBERS = 64 };

typedef struct caller {
    mica_jobs *jobs;
    mi_thread thread;
    int32_t thread_count;
    uint64_t seed;
    void *users[NUMBERS]; // atomic: the thread that works under a number for this caller, by the address of its own
    uint32_t job_count;   // atomic
    uint32_t fault_count; // atomic
    uint32_t expected_count;
} caller;

typedef struct task {
    mi_job job;
    caller *caller;
    const struct task *parent;
    uint64_t seed;
    uint32_t levels; // of jobs below it
} task;

static _Thread_local const task *running;
static _Thread_local caller *outside; // the thread is that caller's

enum { CHILD_MAX = 4 };

static bool is_ancestor(const task *ancestor, const task *of) {
    while (of != NULL && of != ancestor) {
        of = of->parent;
    }
    return of != NULL;
}

static void check_place(const task *t, bool *is_first) {
    caller *c = t->caller;
    const int32_t number = mi_jobs_thread(c->jobs);
    bool is_right = number >= 0 && number < c->thread_count && (outside == NULL) == (number != 0);
    is_right = is_right && (outside == NULL || outside == c) && (running == NULL || is_ancestor(running, t));
    void *user = NULL;
    *is_first = is_right && __atomic_compare_exchange_n(&c->users[number], &user, &running, false, __ATOMIC_SEQ_CST,
                                                        __ATOMIC_SEQ_CST);
    is_right = is_right && (*is_first || user == &running);
    add(&c->fault_count, !is_right);
}

static void do_task(mi_job *job) {
    task *t = (task *)job;
    caller *c = t->caller;
    bool is_first = false;
    check_place(t, &is_first);
    const task *before = running;
    running = t;
    add(&c->job_count, 1);
    test_rest();
    test_random random = {t->seed};
    const uint32_t group_count = t->levels > 0 ? 1 + test_random_below(&random, 2) : 0;
    for (uint32_t g = 0; g < group_count; g++) {
        task children[CHILD_MAX];
        mi_job_group group = {0};
        const uint32_t count = test_random_below(&random, CHILD_MAX + 1);
        for (uint32_t i = 0; i < count; i++) {
            children[i] = (task){.job.function = do_task,
                                 .caller = c,
                                 .parent = t,
                                 .seed = test_random_next(&random),
                                 .levels = t->levels - 1};
            mi_jobs_start(c->jobs, &group, &children[i].job);
            test_rest();
        }
        mi_jobs_wait(c->jobs, &group);
    }
    running = before;
    if (is_first) {
        __atomic_store_n(&c->users[mi_jobs_thread(c->jobs)], NULL, __ATOMIC_SEQ_CST);
    }
}

// How many jobs do_task comes to.
static uint32_t count_tasks(uint64_t seed, uint32_t levels) {
    test_random random = {seed};
    uint32_t total = 1;
    const uint32_t group_count = levels > 0 ? 1 + test_random_below(&random, 2) : 0;
    for (uint32_t g = 0; g < group_count; g++) {
        const uint32_t count = test_random_below(&random, CHILD_MAX + 1);
        for (uint32_t i = 0; i < count; i++) {
            total += count_tasks(test_random_next(&random), levels - 1);
        }
    }
    return total;
}

enum { FRAMES = 12, LEVELS = 5 };

static void be_a_caller(void *user) {
    caller *c = user;
    outside = c;
    test_random random = {c->seed};
    for (int frame = 0; frame < FRAMES; frame++) {
        task roots[3];
        mi_job_group group = {0};
        for (int i = 0; i < 3; i++) {
            roots[i] =
                (task){.job.function = do_task, .caller = c, .seed = test_random_next(&random), .levels = LEVELS - 1};
            c->expected_count += count_tasks(roots[i].seed, roots[i].levels);
            mi_jobs_start(c->jobs, &group, &roots[i].job);
            test_rest();
        }
        task own = {.job.function = do_task, .caller = c, .seed = test_random_next(&random), .levels = LEVELS - 1};
        c->expected_count += count_tasks(own.seed, own.levels);
        mi_jobs_run(c->jobs, &group, &own.job);
        mi_jobs_wait(c->jobs, &group);
    }
    outside = NULL;
}

static void run_callers(int32_t thread_count, int32_t caller_count) {
    mica_jobs *jobs = make_pool(thread_count);
    caller *callers = calloc((size_t)caller_count, sizeof(*callers));
    assert_non_null(callers);
    for (int32_t i = 0; i < caller_count; i++) {
        callers[i] = (caller){.jobs = jobs, .thread_count = thread_count, .seed = 1000u + (uint64_t)i};
        assert_true(mi_thread_start(&callers[i].thread, "caller", be_a_caller, &callers[i]));
    }
    for (int32_t i = 0; i < caller_count; i++) {
        mi_thread_join(&callers[i].thread);
        assert_int_equal(callers[i].fault_count, 0);
        assert_int_equal(callers[i].job_count, callers[i].expected_count);
        assert_true(callers[i].job_count > 100);
    }
    free(callers);
    mica_jobs_release(jobs);
}

static void nested_waits_return_and_run_only_what_is_below_them(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 8; threads += threads < 4 ? 1 : 4) {
        run_callers(threads, 1);
    }
}

static void callers_share_a_pool_and_do_not_run_each_others_jobs(void **state) {
    (void)state;
    run_callers(1, 3);
    run_callers(4, 3);
    run_callers(6, MICA_JOBS_CALLER_MAX);
}

static void more_callers_than_seats_do_their_own_work(void **state) {
    (void)state;
    run_callers(4, MICA_JOBS_CALLER_MAX + 8);
}

// A job that starts those after it in the group, as a schedule does: a node runs when all that it waits for have run.

enum { NODE_COUNT = 300, EDGE_MAX = 6 };

typedef struct graph graph;

typedef struct node {
    mi_job job;
    graph *graph;
    uint32_t waits; // atomic: for so many
    uint32_t after[EDGE_MAX];
    uint32_t after_count;
    uint32_t run_count;
} node;

struct graph {
    mica_jobs *jobs;
    mi_job_group group;
    node nodes[NODE_COUNT];
    uint32_t before_its_time; // atomic
};

static void run_node(mi_job *job) {
    node *n = (node *)job;
    graph *g = n->graph;
    n->run_count++;
    test_rest();
    for (uint32_t i = 0; i < n->after_count; i++) {
        node *next = &g->nodes[n->after[i]];
        add(&g->before_its_time, next->run_count); // ordered by what it waits for
        if (mi_reference_give(&next->waits)) {
            mi_jobs_start(g->jobs, &g->group, &next->job);
        }
    }
}

static void run_graph(mica_jobs *jobs, graph *g, uint64_t seed) {
    test_random random = {seed};
    memset(g, 0, sizeof(*g));
    g->jobs = jobs;
    for (uint32_t i = 0; i < NODE_COUNT; i++) {
        node *n = &g->nodes[i];
        n->job.function = run_node;
        n->graph = g;
        const uint32_t left = NODE_COUNT - 1 - i;
        n->after_count = left == 0 ? 0 : test_random_below(&random, EDGE_MAX + 1);
        for (uint32_t e = 0; e < n->after_count; e++) {
            n->after[e] = i + 1 + test_random_below(&random, left < 20 ? left : 20);
            g->nodes[n->after[e]].waits++;
        }
    }
    bool is_root[NODE_COUNT];
    for (uint32_t i = 0; i < NODE_COUNT; i++) {
        is_root[i] = g->nodes[i].waits == 0;
    }
    for (uint32_t i = 0; i < NODE_COUNT; i++) {
        if (is_root[i]) {
            mi_jobs_start(jobs, &g->group, &g->nodes[i].job);
        }
    }
    mi_jobs_wait(jobs, &g->group);
    assert_int_equal(g->before_its_time, 0);
    for (uint32_t i = 0; i < NODE_COUNT; i++) {
        assert_int_equal(g->nodes[i].run_count, 1);
    }
}

static void jobs_that_start_those_after_them_are_all_waited_for(void **state) {
    (void)state;
    static graph g;
    for (int32_t threads = 1; threads <= 7; threads += 2) {
        mica_jobs *jobs = make_pool(threads);
        for (uint64_t seed = 1; seed <= 10; seed++) {
            run_graph(jobs, &g, seed);
        }
        mica_jobs_release(jobs);
    }
}

// A job that starts another one and goes on until that has begun, which is for the other thread to do.

typedef struct relay {
    mi_job job, next;
    mica_jobs *jobs;
    mi_job_group *group;
    uint32_t has_begun, next_has_begun; // atomic
    int32_t number;
} relay;

static void run_next(mi_job *job) {
    relay *r = (relay *)(void *)((char *)job - offsetof(relay, next));
    mi_store_count(&r->next_has_begun, 1);
}

static void wait_for_next_to_begin(mi_job *job) {
    relay *r = (relay *)job;
    r->number = mi_jobs_thread(r->jobs);
    mi_store_count(&r->has_begun, 1);
    for (int i = 0; i < 100; i++) {
        sched_yield(); // so that the caller falls asleep, or nearly
    }
    r->next.function = run_next;
    mi_jobs_start(r->jobs, r->group, &r->next);
    while (mi_load_count(&r->next_has_begun) == 0) {
        sched_yield();
    }
}

static void a_caller_comes_back_to_what_its_jobs_start(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(2);
    for (int round = 0; round < 50; round++) {
        mi_job_group group = {0};
        relay r = {.job.function = wait_for_next_to_begin, .jobs = jobs, .group = &group};
        mi_jobs_start(jobs, &group, &r.job);
        while (mi_load_count(&r.has_begun) == 0) {
            sched_yield(); // the pool's thread has it
        }
        mi_jobs_wait(jobs, &group);
        assert_int_equal(r.next_has_begun, 1);
        assert_int_equal(r.number, 1); // also when more callers have come and gone than there are seats
    }
    mica_jobs_release(jobs);
}

// A job that is handed back to the thread that waits.

typedef struct errand {
    mi_job job, task; // of another thread, and what it hands back
    mica_jobs *jobs;
    mi_job_group *group;
    pthread_t waiting_thread;
    uint32_t has_begun, has_run; // atomic
    bool rests;                  // so that the waiting thread falls asleep, or nearly
} errand;

static void run_errands_task(mi_job *job) {
    errand *e = (errand *)(void *)((char *)job - offsetof(errand, task));
    assert_true(pthread_equal(pthread_self(), e->waiting_thread));
    mi_store_count(&e->has_run, 1);
}

static void hand_task_back(mi_job *job) {
    errand *e = (errand *)job;
    mi_store_count(&e->has_begun, 1);
    for (int i = 0; e->rests && i < 10; i++) {
        sched_yield();
    }
    e->task.function = run_errands_task;
    mi_jobs_hand_back(e->jobs, e->group, &e->task);
    while (mi_load_count(&e->has_run) == 0) {
        sched_yield();
    }
}

// Starts the errand, and waits until the pool's one thread is at it.
static void begin_errand(errand *e, mica_jobs *jobs, mi_job_group *group, bool rests) {
    *e = (errand){
        .job.function = hand_task_back, .jobs = jobs, .group = group, .waiting_thread = pthread_self(), .rests = rests};
    mi_jobs_start(jobs, group, &e->job);
    while (mi_load_count(&e->has_begun) == 0) {
        sched_yield();
    }
}

static void what_is_handed_back_wakes_the_thread_that_waits_and_runs_there(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(2);
    for (int round = 0; round < 40; round++) {
        mi_job_group group = {0};
        errand e;
        begin_errand(&e, jobs, &group, round % 2 == 0);
        mi_jobs_wait(jobs, &group); // and the errand would not end before
        assert_int_equal(e.has_run, 1);
    }
    mica_jobs_release(jobs);
}

// A job that goes on until one was handed back to its thread.
typedef struct held_up {
    mi_job job, inner, other;
    const errand *errand;
    uint32_t inner_count, other_count;
} held_up;

static void find_nothing_wanted(mi_job *inner) {
    held_up *h = (held_up *)(void *)((char *)inner - offsetof(held_up, inner));
    assert_false(mi_jobs_is_wanted(h->errand->jobs));
    assert_int_equal(mi_load_count(&h->errand->has_run), 0);
    h->inner_count++;
}

static void wait_until_wanted(mi_job *job) {
    held_up *h = (held_up *)job;
    while (!mi_jobs_is_wanted(h->errand->jobs)) {
        sched_yield();
    }
    mi_job_group inner = {0};
    h->inner.function = find_nothing_wanted;
    mi_jobs_start(h->errand->jobs, &inner, &h->inner);
    mi_jobs_wait(h->errand->jobs, &inner);
    assert_true(mi_jobs_is_wanted(h->errand->jobs));
    assert_int_equal(mi_load_count(&h->errand->has_run), 0);
}

static void find_task_done(mi_job *other) {
    held_up *h = (held_up *)(void *)((char *)other - offsetof(held_up, other));
    assert_int_equal(mi_load_count(&h->errand->has_run), 1);
    h->other_count++;
}

static void what_is_handed_back_comes_next_but_not_on_top_of_what_runs(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(2);
    for (int round = 0; round < 20; round++) {
        mi_job_group group = {0};
        errand e;
        held_up h = {.job.function = wait_until_wanted, .other.function = find_task_done, .errand = &e};
        begin_errand(&e, jobs, &group, false);
        mi_jobs_start(jobs, &group, &h.other);
        mi_jobs_run(jobs, &group, &h.job);
        mi_jobs_wait(jobs, &group);
        assert_int_equal(h.inner_count, 1);
        assert_int_equal(h.other_count, 1);
        assert_false(mi_jobs_is_wanted(jobs));
    }
    mica_jobs_release(jobs);
}

// Five systems that each go over nothing in parallel, for thousands of frames.

typedef struct system_job {
    mi_job job;
    mica_jobs *jobs;
} system_job;

static void do_nothing(mi_job *job) {
    (void)job;
}

static void go_over_nothing(mi_job *job) {
    system_job *s = (system_job *)job;
    mi_job parts[4];
    mi_job_group group = {0};
    for (int i = 0; i < 4; i++) {
        parts[i].function = do_nothing;
        mi_jobs_start(s->jobs, &group, &parts[i]);
    }
    mi_jobs_wait(s->jobs, &group);
}

static void run_systems(mica_jobs *jobs) {
    system_job systems[5];
    mi_job_group group = {0};
    for (int i = 0; i < 5; i++) {
        systems[i] = (system_job){.job.function = go_over_nothing, .jobs = jobs};
        mi_jobs_start(jobs, &group, &systems[i].job);
    }
    mi_jobs_wait(jobs, &group);
}

static void more_empty_parallel_loops_than_threads_end_in_every_frame(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(4);
    for (int frame = 0; frame < 5000; frame++) {
        run_systems(jobs);
    }
    mica_jobs_release(jobs);
}

// A job that does what a caller from outside would: a whole frame of another world.

typedef struct frame_job {
    mi_job job;
    mica_jobs *jobs;
    graph *graph;
} frame_job;

static void run_a_whole_frame(mi_job *job) {
    frame_job *f = (frame_job *)job;
    run_graph(f->jobs, f->graph, 5);
    run_systems(f->jobs);
}

static void a_job_runs_a_whole_frame_on_the_same_pool_or_another(void **state) {
    (void)state;
    static graph graphs[3];
    for (int32_t threads = 1; threads <= 4; threads++) {
        mica_jobs *jobs = make_pool(threads), *others = make_pool(2);
        for (int round = 0; round < 10; round++) {
            frame_job frames[3];
            mi_job_group group = {0};
            for (int i = 0; i < 3; i++) {
                frames[i] =
                    (frame_job){.job.function = run_a_whole_frame, .jobs = i < 2 ? jobs : others, .graph = &graphs[i]};
                mi_jobs_start(jobs, &group, &frames[i].job);
            }
            mi_jobs_wait(jobs, &group);
        }
        mica_jobs_release(others);
        mica_jobs_release(jobs);
    }
}

// Jobs that span frames.

static void add_one(void *data) {
    test_rest();
    add(data, 1);
}

static void a_kicked_job_is_done_when_it_was_waited_for(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        mica_jobs *jobs = make_pool(threads);
        for (int round = 0; round < 200; round++) {
            uint32_t count = 0;
            const mica_job job = mica_job_start(jobs, add_one, &count);
            const mica_job copy = job;
            assert_int_equal(mica_job_wait(jobs, copy), MICA_OK);
            assert_int_equal(count, 1);
            assert_true(mica_job_done(jobs, job));
            assert_int_equal(mica_job_wait(jobs, job), MICA_OK);
            assert_int_equal(count, 1);
        }
        mica_jobs_release(jobs);
    }
}

static void asking_until_it_is_done_comes_to_an_end(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads++) {
        mica_jobs *jobs = make_pool(threads);
        uint32_t count = 0;
        const mica_job job = mica_job_start(jobs, add_one, &count);
        while (!mica_job_done(jobs, job)) {
            sched_yield();
        }
        assert_int_equal(count, 1);
        mica_jobs_release(jobs);
    }
}

// Nobody but the pool's one thread runs what is kicked off here, each time at another moment of its falling asleep: a
// wake-up that were lost would end in no end.
static void a_kicked_job_wakes_a_thread_that_is_about_to_sleep(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(2);
    test_random random = {11};
    uint32_t count = 0;
    for (uint32_t round = 0; round < 5000; round++) {
        const mica_job job = mica_job_start(jobs, add_one, &count);
        while (!mica_job_done(jobs, job)) {
            sched_yield();
        }
        for (uint32_t i = test_random_below(&random, 128); i > 0; i--) {
            mi_os_pause();
        }
    }
    assert_int_equal(count, 5000);
    mica_jobs_release(jobs);
}

static void a_pool_of_one_runs_a_kicked_job_when_it_is_asked_for(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(1);
    uint32_t counts[2] = {0};
    const mica_job first = mica_job_start(jobs, add_one, &counts[0]);
    const mica_job second = mica_job_start(jobs, add_one, &counts[1]);
    run_adders(jobs, 10);
    assert_int_equal(counts[0] + counts[1], 0);
    assert_true(mica_job_done(jobs, second));
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 1);
    assert_int_equal(mica_job_wait(jobs, first), MICA_OK);
    assert_int_equal(counts[0], 1);
    mica_jobs_release(jobs);
}

static void a_handle_of_what_has_ended_does_not_speak_of_another_job(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(1);
    uint32_t count = 0;
    const mica_job old = mica_job_start(jobs, add_one, &count);
    assert_int_equal(mica_job_wait(jobs, old), MICA_OK);
    const mica_job young = mica_job_start(jobs, add_one, &count);
    assert_int_equal(young.index, old.index);
    assert_true(mica_job_done(jobs, old));
    assert_int_equal(mica_job_wait(jobs, old), MICA_OK);
    assert_int_equal(count, 1); // the young one has not run for that
    assert_int_equal(mica_job_wait(jobs, young), MICA_OK);
    assert_int_equal(count, 2);
    mica_jobs_release(jobs);
}

static void handles_that_have_no_job_say_so(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(2);
    uint32_t count = 0;
    const mica_job job = mica_job_start(jobs, add_one, &count);
    assert_int_equal(mica_job_wait(jobs, job), MICA_OK);
    const mica_job wrong[] = {
        {0, 0}, {job.index, 0}, {job.index, job.generation + 1}, {job.index + 1, 1}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        mica_error_clear();
        assert_false(mica_job_done(jobs, wrong[i]));
        assert_int_equal(mica_last_result(), MICA_STALE);
        mica_error_clear();
        assert_int_equal(mica_job_wait(jobs, wrong[i]), MICA_STALE);
        assert_int_equal(mica_last_result(), MICA_STALE);
    }
    assert_false(mica_job_done(NULL, job));
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_job_wait(NULL, job), MICA_INVALID);
    assert_int_equal(mica_job_start(NULL, add_one, &count).generation, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    assert_int_equal(mica_job_start(jobs, NULL, &count).generation, 0);
    assert_int_equal(mica_last_result(), MICA_INVALID);
    mica_jobs_release(jobs);
}

static void a_kicked_job_without_memory_is_refused(void **state) {
    (void)state;
    test_allocator allocator;
    test_allocator_init(&allocator);
    mica_jobs *jobs =
        mica_jobs_create(&(mica_jobs_def){.thread_count = 1, .allocator = test_allocator_hooks(&allocator)});
    assert_non_null(jobs);
    uint32_t count = 0;
    test_allocator_fail_from(&allocator, 1);
    assert_int_equal(mica_job_start(jobs, add_one, &count).generation, 0);
    assert_int_equal(mica_last_result(), MICA_OUT_OF_MEMORY);
    assert_true(test_allocator_fail_stop(&allocator));
    const mica_job job = mica_job_start(jobs, add_one, &count);
    assert_int_equal(mica_job_wait(jobs, job), MICA_OK);
    // From now on there is room.
    test_allocator_fail_from(&allocator, 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(mica_job_wait(jobs, mica_job_start(jobs, add_one, &count)), MICA_OK);
    }
    run_adders(jobs, 100);
    assert_false(test_allocator_fail_stop(&allocator));
    assert_int_equal(count, 11);
    mica_jobs_release(jobs);
    test_allocator_finish(&allocator);
}

static void what_is_queued_runs_before_the_pool_ends(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        for (int life = 0; life < 50; life++) {
            mica_jobs *jobs = make_pool(threads);
            uint32_t count = 0;
            for (int i = 0; i < 100; i++) {
                assert_int_not_equal(mica_job_start(jobs, add_one, &count).generation, 0);
            }
            mica_jobs_release(jobs);
            assert_int_equal(count, 100);
        }
    }
}

typedef struct chain {
    mica_jobs *jobs;
    uint32_t left;
    uint32_t run_count;
} chain;

static void kick_the_next(void *data) {
    chain *c = data;
    c->run_count++;
    if (--c->left > 0) {
        mica_job_start(c->jobs, kick_the_next, c);
    }
}

static void what_jobs_kick_off_runs_before_the_pool_ends(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        chain c = {.jobs = make_pool(threads), .left = 1000};
        mica_job_start(c.jobs, kick_the_next, &c);
        mica_jobs_release(c.jobs);
        assert_int_equal(c.run_count, 1000);
    }
}

// Kicked off at the end of a frame, and waited for by a system of the next one, while its own waits could bring that
// system upon it.

typedef struct spanning {
    mica_jobs *jobs;
    mica_job job;
    uint32_t waited_count; // atomic
} spanning;

static void go_over_much(void *data) {
    const spanning *s = data;
    for (int i = 0; i < 3; i++) {
        run_systems(s->jobs);
    }
}

typedef struct joining {
    mi_job job;
    spanning *spanning;
} joining;

static void wait_for_what_spans(mi_job *job) {
    spanning *s = ((joining *)job)->spanning;
    add(&s->waited_count, mica_job_wait(s->jobs, s->job) == MICA_OK);
    test_rest();
}

static void systems_wait_for_what_spans_frames(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        spanning s = {.jobs = make_pool(threads)};
        for (int frame = 0; frame < 300; frame++) {
            s.job = mica_job_start(s.jobs, go_over_much, &s);
            joining systems[6];
            mi_job_group group = {0};
            for (int i = 0; i < 6; i++) {
                systems[i] = (joining){.job.function = wait_for_what_spans, .spanning = &s};
                mi_jobs_start(s.jobs, &group, &systems[i].job);
            }
            mi_jobs_wait(s.jobs, &group);
            assert_true(mica_job_done(s.jobs, s.job));
        }
        assert_int_equal(s.waited_count, 6 * 300);
        mica_jobs_release(s.jobs);
    }
}

// A system waits for what another thread runs, while a further one lies below it in its thread's deque.

typedef struct pile {
    mica_jobs *jobs;
    mica_job job;
    uint32_t has_begun, is_released, upper_has_begun, lower_has_begun, fault_count; // atomic
} pile;

typedef struct pile_job {
    mi_job job;
    pile *pile;
} pile_job;

static _Thread_local bool is_in_upper;

static void hold_a_thread(void *data) {
    pile *p = data;
    mi_store_count(&p->has_begun, 1);
    while (mi_load_count(&p->is_released) == 0) {
        sched_yield();
    }
}

static void wait_in_upper(mi_job *job) {
    pile *p = ((pile_job *)job)->pile;
    is_in_upper = true;
    mi_store_count(&p->upper_has_begun, 1);
    add(&p->fault_count, mica_job_wait(p->jobs, p->job) != MICA_OK);
    is_in_upper = false;
}

static void run_in_lower(mi_job *job) {
    pile *p = ((pile_job *)job)->pile;
    add(&p->fault_count, is_in_upper);
    mi_store_count(&p->lower_has_begun, 1);
}

static void release_after_a_while(void *data) {
    pile *p = data;
    while (mi_load_count(&p->upper_has_begun) == 0) {
        sched_yield();
    }
    for (int i = 0; i < 200 && mi_load_count(&p->lower_has_begun) == 0; i++) {
        sched_yield();
    }
    mi_store_count(&p->is_released, 1);
}

static void a_wait_for_what_spans_frames_runs_no_other_system(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(2);
    for (int round = 0; round < 10; round++) {
        pile p = {.jobs = jobs};
        p.job = mica_job_start(jobs, hold_a_thread, &p);
        while (mi_load_count(&p.has_begun) == 0) {
            sched_yield(); // the other thread of the pool is busy from here on
        }
        mi_thread releaser;
        assert_true(mi_thread_start(&releaser, "releaser", release_after_a_while, &p));
        pile_job lower = {{.function = run_in_lower}, &p}, upper = {{.function = wait_in_upper}, &p};
        mi_job_group group = {0};
        mi_jobs_start(jobs, &group, &lower.job);
        mi_jobs_start(jobs, &group, &upper.job);
        mi_jobs_wait(jobs, &group);
        mi_thread_join(&releaser);
        assert_int_equal(p.fault_count, 0);
        assert_int_equal(p.lower_has_begun, 1);
    }
    mica_jobs_release(jobs);
}

static void release_it(void *data) {
    mica_error_clear();
    mica_jobs_release(data);
}

static void a_job_cannot_end_its_pool(void **state) {
    (void)state;
    mica_jobs *jobs = make_pool(1);
    assert_int_equal(mica_job_wait(jobs, mica_job_start(jobs, release_it, jobs)), MICA_OK);
    assert_int_equal(mica_last_result(), MICA_LOCKED);
    run_adders(jobs, 10);
    mica_jobs_release(jobs);
}

// An engine with threads of its own.

enum { ENGINE_THREADS = 3, ENGINE_QUEUE = 64 };

typedef struct engine {
    mi_lock lock;
    mi_condition changed;
    struct {
        void (*function)(void *argument);
        void *argument;
    } queue[ENGINE_QUEUE];
    uint32_t first, count;
    bool is_over;
    bool refuses;
    uint32_t start_count, most_count; // calls of start; the most that waited in the queue
    uint32_t own_count;               // atomic: tasks of the engine that have run
    int32_t thread_count;
    mi_thread threads[ENGINE_THREADS];
} engine;

static bool engine_start(void *user, void (*function)(void *argument), void *argument) {
    engine *e = user;
    mi_lock_take(&e->lock);
    const bool takes_it = !e->refuses && e->count < ENGINE_QUEUE;
    if (takes_it) {
        const uint32_t at = (e->first + e->count++) % ENGINE_QUEUE;
        e->queue[at].function = function;
        e->queue[at].argument = argument;
        e->most_count = e->count > e->most_count ? e->count : e->most_count;
        mi_condition_wake_all(&e->changed);
    }
    e->start_count++;
    mi_lock_give(&e->lock);
    return takes_it;
}

// Runs the first thing that is queued. The lock is held, and given back meanwhile.
static void engine_run_first(engine *e) {
    const uint32_t at = e->first;
    e->first = (e->first + 1) % ENGINE_QUEUE;
    e->count--;
    void (*const function)(void *argument) = e->queue[at].function;
    void *argument = e->queue[at].argument;
    mi_lock_give(&e->lock);
    function(argument);
    mi_lock_take(&e->lock);
}

static bool engine_help(void *user) {
    engine *e = user;
    mi_lock_take(&e->lock);
    const bool is_there = e->count > 0;
    if (is_there) {
        engine_run_first(e);
    }
    mi_lock_give(&e->lock);
    return is_there;
}

static void engine_thread(void *user) {
    engine *e = user;
    mi_lock_take(&e->lock);
    while (!e->is_over || e->count > 0) {
        if (e->count > 0) {
            engine_run_first(e);
        } else {
            mi_condition_wait(&e->changed, &e->lock);
        }
    }
    mi_lock_give(&e->lock);
}

static void engine_open(engine *e, int32_t thread_count) {
    *e = (engine){.thread_count = thread_count};
    assert_true(mi_lock_init(&e->lock) && mi_condition_init(&e->changed));
    for (int32_t i = 0; i < thread_count; i++) {
        assert_true(mi_thread_start(&e->threads[i], "engine", engine_thread, e));
    }
}

static void engine_close(engine *e) {
    mi_lock_take(&e->lock);
    e->is_over = true;
    mi_condition_wake_all(&e->changed);
    mi_lock_give(&e->lock);
    for (int32_t i = 0; i < e->thread_count; i++) {
        mi_thread_join(&e->threads[i]);
    }
    assert_int_equal(e->count, 0);
    mi_condition_destroy(&e->changed);
    mi_lock_destroy(&e->lock);
}

static mica_jobs *make_pool_of(engine *e, int32_t thread_count, bool helps) {
    mica_jobs *jobs = mica_jobs_create(&(mica_jobs_def){
        .thread_count = thread_count, .hook = {.start = engine_start, .help = helps ? engine_help : NULL, .user = e}});
    assert_non_null(jobs);
    return jobs;
}

static void an_engines_threads_do_what_a_pools_do(void **state) {
    (void)state;
    static graph g;
    for (int variant = 0; variant < 8; variant++) {
        engine e;
        engine_open(&e, variant / 2);
        mica_jobs *jobs = make_pool_of(&e, 4, variant % 2 == 1 || variant == 0);
        const int32_t created = created_count;
        for (int round = 0; round < 20; round++) {
            run_adders(jobs, 100);
            run_graph(jobs, &g, (uint64_t)round);
            run_systems(jobs);
            uint32_t count = 0;
            assert_int_equal(mica_job_wait(jobs, mica_job_start(jobs, add_one, &count)), MICA_OK);
            assert_int_equal(count, 1);
        }
        uint32_t count = 0;
        for (int i = 0; i < 20; i++) {
            mica_job_start(jobs, add_one, &count);
        }
        mica_jobs_release(jobs);
        assert_int_equal(count, 20);
        assert_int_equal(created_count, created);
        assert_true(e.most_count <= 3);
        engine_close(&e);
    }
}

static void callers_share_an_engines_threads(void **state) {
    (void)state;
    engine e;
    engine_open(&e, 3);
    mica_jobs *jobs = make_pool_of(&e, 3, true);
    caller callers[4];
    for (int32_t i = 0; i < 4; i++) {
        callers[i] = (caller){.jobs = jobs, .thread_count = 3, .seed = 50u + (uint64_t)i};
        assert_true(mi_thread_start(&callers[i].thread, "caller", be_a_caller, &callers[i]));
    }
    for (int32_t i = 0; i < 4; i++) {
        mi_thread_join(&callers[i].thread);
        assert_int_equal(callers[i].fault_count, 0);
        assert_int_equal(callers[i].job_count, callers[i].expected_count);
    }
    mica_jobs_release(jobs);
    engine_close(&e);
}

static void an_engine_that_gives_no_thread_leaves_the_work_to_the_caller(void **state) {
    (void)state;
    engine e;
    engine_open(&e, 0);
    e.refuses = true;
    mica_jobs *jobs = make_pool_of(&e, 4, false);
    run_adders(jobs, 100);
    run_systems(jobs);
    assert_true(e.start_count > 0);
    uint32_t count = 0;
    assert_int_equal(mica_job_wait(jobs, mica_job_start(jobs, add_one, &count)), MICA_OK);
    mica_job_start(jobs, add_one, &count);
    mica_jobs_release(jobs);
    assert_int_equal(count, 2);
    engine_close(&e);
}

static void starting_a_job_wakes_at_most_one_thread(void **state) {
    (void)state;
    engine e;
    engine_open(&e, 0); // what it is asked for stays in its queue
    mica_jobs *jobs = make_pool_of(&e, 4, true);
    adder adders[5];
    uint32_t sum = 0;
    mi_job_group group = {0};
    assert_true(mi_jobs_has_idle(jobs));
    for (uint32_t i = 0; i < 5; i++) {
        adders[i] = (adder){.job.function = add_value, .sum = &sum, .value = 1};
        mi_jobs_start(jobs, &group, &adders[i].job);
        assert_int_equal(e.start_count, i < 3 ? i + 1 : 3); // there are no more than three
    }
    mi_jobs_wait(jobs, &group);
    assert_int_equal(sum, 5);
    mica_jobs_release(jobs);
    engine_close(&e);
}

static void a_hook_without_start_is_refused(void **state) {
    (void)state;
    assert_null(mica_jobs_create(&(mica_jobs_def){.hook = {.help = engine_help}}));
    assert_int_equal(mica_last_result(), MICA_INVALID);
}

// A task of the engine's that uses the pool itself, done while a job waits.

typedef struct engine_task {
    engine *engine;
    mica_jobs *jobs;
} engine_task;

static void do_engine_task(void *user) {
    engine_task *t = user;
    const task *before = running;
    caller *before_outside = outside;
    running = NULL;
    caller c = {.jobs = t->jobs, .thread_count = 3, .seed = 9};
    be_a_caller(&c);
    running = before;
    outside = before_outside;
    add(&t->engine->own_count, c.fault_count == 0 && c.job_count == c.expected_count);
    mica_jobs_release(t->jobs);
}

static void helping_the_engine_is_as_coming_from_outside(void **state) {
    (void)state;
    engine e;
    engine_open(&e, 1);
    mica_jobs *jobs = make_pool_of(&e, 3, true);
    engine_task t = {&e, jobs};
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            mica_jobs_retain(jobs);
            assert_true(engine_start(&e, do_engine_task, &t));
        }
        run_systems(jobs);
    }
    mica_jobs_release(jobs);
    engine_close(&e);
    assert_int_equal(e.own_count, 20);
}

#define JOBS_TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        JOBS_TEST(a_group_has_run_when_it_was_waited_for),
        JOBS_TEST(an_empty_group_is_waited_for_at_once),
        JOBS_TEST(a_job_that_is_run_has_run_and_is_one_of_its_group),
        JOBS_TEST(a_group_is_used_again_after_it_was_waited_for),
        JOBS_TEST(more_jobs_than_there_is_room_for_run_too),
        JOBS_TEST(groups_are_waited_for_in_any_order),
        JOBS_TEST(thread_counts_are_taken_or_refused),
        JOBS_TEST(a_pool_of_one_creates_no_thread),
        JOBS_TEST(the_last_reference_ends_the_pool),
        JOBS_TEST(a_pool_without_memory_is_not_made_and_leaves_nothing),
        JOBS_TEST(a_thread_that_cannot_be_created_ends_those_that_were),
        JOBS_TEST(pools_that_live_for_two_frames_all_end),
        JOBS_TEST(nested_waits_return_and_run_only_what_is_below_them),
        JOBS_TEST(callers_share_a_pool_and_do_not_run_each_others_jobs),
        JOBS_TEST(more_callers_than_seats_do_their_own_work),
        JOBS_TEST(jobs_that_start_those_after_them_are_all_waited_for),
        JOBS_TEST(a_caller_comes_back_to_what_its_jobs_start),
        JOBS_TEST(what_is_handed_back_wakes_the_thread_that_waits_and_runs_there),
        JOBS_TEST(what_is_handed_back_comes_next_but_not_on_top_of_what_runs),
        JOBS_TEST(more_empty_parallel_loops_than_threads_end_in_every_frame),
        JOBS_TEST(a_job_runs_a_whole_frame_on_the_same_pool_or_another),
        JOBS_TEST(a_kicked_job_is_done_when_it_was_waited_for),
        JOBS_TEST(asking_until_it_is_done_comes_to_an_end),
        JOBS_TEST(a_kicked_job_wakes_a_thread_that_is_about_to_sleep),
        JOBS_TEST(a_pool_of_one_runs_a_kicked_job_when_it_is_asked_for),
        JOBS_TEST(a_handle_of_what_has_ended_does_not_speak_of_another_job),
        JOBS_TEST(handles_that_have_no_job_say_so),
        JOBS_TEST(a_kicked_job_without_memory_is_refused),
        JOBS_TEST(what_is_queued_runs_before_the_pool_ends),
        JOBS_TEST(what_jobs_kick_off_runs_before_the_pool_ends),
        JOBS_TEST(systems_wait_for_what_spans_frames),
        JOBS_TEST(a_wait_for_what_spans_frames_runs_no_other_system),
        JOBS_TEST(a_job_cannot_end_its_pool),
        JOBS_TEST(an_engines_threads_do_what_a_pools_do),
        JOBS_TEST(callers_share_an_engines_threads),
        JOBS_TEST(an_engine_that_gives_no_thread_leaves_the_work_to_the_caller),
        JOBS_TEST(starting_a_job_wakes_at_most_one_thread),
        JOBS_TEST(a_hook_without_start_is_refused),
        JOBS_TEST(helping_the_engine_is_as_coming_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
