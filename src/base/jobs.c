// The pool of threads: who sits where, who runs what, and how nobody sleeps while there is work.
//
// A thread that takes part has a seat with a deque: threads of the pool one each for good (or, with a hook, for as long
// as the engine lets one of its threads stay), callers from outside one for as long as they have groups open. A job
// carries the label of the caller that it goes back to, 0 for what was kicked off; the label goes on to all that it
// starts.
//
// Invariants. A thread of the pool that runs nothing takes anything. One that waits within a job pops its own deque
// down to where it was when the job began, so that it runs what the job has started and nothing else. One that waits
// outside of any job does the same, and steals what has its label. Before a worker sleeps it marks its seat and counts
// itself among the sleepers, then looks once more at all places where work can be; who brings work puts it down, then
// looks for sleepers (the orders: atomic.h). Whoever takes a mark away has to wake the seat.
//
// A job that is handed back lies with its group, where the waiting thread looks first. It is counted, then put down;
// who has put it down then looks for the mark of a sleeper, who looks for it after he has marked.
//
// A group is left by whoever waits for it as soon as its last job has ended: the one who ends a job does not touch the
// group after that. Jobs that span frames stand in a list of their own under the pool's lock.
#include "base/jobs.h"

#include <stdio.h>
#include <string.h>

#include "base/deque.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/os.h"
#include "base/slot_map.h"

enum {
    DEQUE_CAPACITY = 1024,   // jobs; with 16 bytes each
    LOOK_ROUNDS = 64,        // before a thread sleeps: some twenty microseconds, about what waking it up takes
    SPIN_ROUNDS = 16,        // of these, until it lets other threads have its core
    TINY_NANOSECONDS = 2000, // a job that takes less was not worth taking from another thread
    HOLD_OFF_MOST = 256,     // pauses
    KICKED_FIRST_EVERY = 64  // so many times that a worker looks elsewhere for work: what was kicked off comes first
};

static const mica_memory_purpose purpose = MICA_MEMORY_SYSTEMS;

// That the calling thread takes part in a pool: the innermost comes first.
typedef struct presence {
    const mica_jobs *jobs;
    struct mi_jobs_seat *seat; // NULL: it runs a job of the pool without one
    bool is_away;              // it is with the engine's work, which is not to find the seat
    struct presence *outer;
} presence;

typedef struct mi_jobs_seat {
    mi_deque deque;
    _Alignas(MI_CACHE_LINE_SIZE) uint32_t sleep_mark; // atomic
    mi_parker parker;
    mica_jobs *jobs;
    int32_t number;      // of the thread; 0: a caller from outside
    uintptr_t own_label; // 0: a worker's seat

    // The thread's own, apart from what others look at.
    _Alignas(MI_CACHE_LINE_SIZE) presence here;
    uintptr_t label;                // of the job that runs, or of the caller
    int64_t level;                  // of the deque when that job began
    const mi_job_group *returns_to; // the group that the thread waits for or runs a part of, right below that job
    uint32_t depth;                 // jobs that run, one within the other
    uint32_t open_group_count;
    uint32_t random;
    uint32_t look_count;
    mi_thread thread;
} mi_jobs_seat;

// A job that was kicked off and has not ended. Neighbours in the list by their keys: values move.
typedef struct kicked_job {
    void (*function)(void *data);
    void *data;
    mica_key next, previous; // null: none
    bool is_running;         // it is not in the list any more
} kicked_job;

struct mica_jobs {
    mi_heap heap;
    uint32_t reference_count; // atomic
    int32_t worker_count;     // seats of workers come first, those of callers behind them
    int32_t thread_count;     // that were created
    mica_log_handler log;
    mica_jobs_hook hook;
    mi_jobs_seat *seats;
    mi_deque_slot *slots; // of all deques

    _Alignas(MI_CACHE_LINE_SIZE) uint32_t sleepers; // atomic: workers' seats with a mark
    uint32_t looking;                               // atomic, a hint: workers that have nothing to do
    uint32_t is_ending;                             // atomic
    uint32_t queued_count;                          // atomic: kicked jobs in the list; written under the lock
    uint64_t callers;                               // atomic: bits of callers' seats that are taken

    _Alignas(MI_CACHE_LINE_SIZE) mi_lock lock; // for all that follows
    mi_condition ended;                        // a kicked job, or what the engine was asked for
    uint32_t waiting_count;                    // threads that wait for that
    uint32_t visit_count;                      // calls that the engine was asked for and that have not returned
    mica_slot_map *kicked;
    mica_key first, last; // of the list
};

static MI_THREAD_LOCAL presence *innermost;

// What a thread does next.
typedef struct work {
    bool is_kicked;
    mi_job *job; // with its label, or one that was kicked off:
    uintptr_t label;
    mica_key key;
    void (*function)(void *data);
    void *data;
} work;

// Taking part.

static void appear(presence *here) {
    here->is_away = false;
    here->outer = innermost;
    innermost = here;
}

// Groups of several pools need not be closed in turn, so it may stand anywhere.
static void disappear(const presence *here) {
    presence **place = &innermost;
    while (*place != here) {
        place = &(*place)->outer;
    }
    *place = here->outer;
}

static bool takes_part(const mica_jobs *jobs) {
    const presence *here = innermost;
    while (here != NULL && here->jobs != jobs) {
        here = here->outer;
    }
    return here != NULL;
}

// The calling thread's seat, or NULL.
static inline mi_jobs_seat *seat_here(const mica_jobs *jobs) {
    const presence *here = innermost;
    while (here != NULL && (here->jobs != jobs || here->is_away || here->seat == NULL)) {
        here = here->outer;
    }
    return here != NULL ? here->seat : NULL;
}

static mi_jobs_seat *callers_seat(const mica_jobs *jobs, uintptr_t label) {
    return &jobs->seats[jobs->worker_count + (int32_t)label - 1];
}

// A seat for a thread from outside; NULL: all are taken.
static mi_jobs_seat *take_callers_seat(mica_jobs *jobs) {
    uint64_t taken = mi_seats(&jobs->callers);
    uint32_t index;
    do {
        index = (uint32_t)__builtin_ctzll(~taken);
        if (index >= MICA_JOBS_CALLER_MAX) {
            return NULL;
        }
    } while (!mi_seats_take(&jobs->callers, &taken, taken | UINT64_C(1) << index));
    mi_jobs_seat *seat = callers_seat(jobs, index + 1);
    appear(&seat->here);
    return seat;
}

static void give_callers_seat(mi_jobs_seat *seat) {
    MI_ASSERT(seat->depth == 0 && mi_deque_peek(&seat->deque, MI_LABEL_ANY) == MI_STEAL_EMPTY);
    disappear(&seat->here);
    mi_seats_give(&seat->jobs->callers, UINT64_C(1) << (seat->own_label - 1));
}

// Whether a thread that waits may steal: a caller's outside of any job.
static bool is_outermost(const mi_jobs_seat *seat) {
    return seat->own_label != 0 && seat->depth == 0;
}

// Sleeping and waking.

static void run_visit(void *argument);

static void mark_asleep(mi_jobs_seat *worker) {
    mi_sleep_mark(&worker->sleep_mark);
    mi_sleepers_add(&worker->jobs->sleepers);
}

// True: the mark was there, and the caller has to see to it that the seat's work goes on.
static bool unmark_asleep(mi_jobs_seat *worker) {
    if (!mi_sleep_unmark(&worker->sleep_mark)) {
        return false;
    }
    mi_sleepers_remove(&worker->jobs->sleepers);
    return true;
}

static void count_visit(mica_jobs *jobs, uint32_t difference) {
    mi_lock_take(&jobs->lock);
    jobs->visit_count += difference;
    if (jobs->visit_count == 0 && jobs->waiting_count > 0) {
        mi_condition_wake_all(&jobs->ended);
    }
    mi_lock_give(&jobs->lock);
}

// Wakes a worker whose mark was taken away: its thread, or by asking the engine for one.
static void wake_worker(mi_jobs_seat *worker) {
    mica_jobs *jobs = worker->jobs;
    if (jobs->hook.start == NULL) {
        mi_parker_wake(&worker->parker);
        return;
    }
    count_visit(jobs, 1);
    if (!jobs->hook.start(jobs->hook.user, run_visit, worker)) {
        mark_asleep(worker);
        count_visit(jobs, UINT32_MAX);
    }
}

static bool wake_some_worker(mica_jobs *jobs) {
    for (int32_t i = 0; i < jobs->worker_count; i++) {
        if (mi_sleep_is_marked(&jobs->seats[i].sleep_mark) && unmark_asleep(&jobs->seats[i])) {
            wake_worker(&jobs->seats[i]);
            return true;
        }
    }
    return false;
}

// Wakes at most one thread that can run a job of that label: a worker, or else the caller that it goes back to.
static void wake_one(mica_jobs *jobs, uintptr_t label) {
    if (mi_sleepers(&jobs->sleepers) > 0 && wake_some_worker(jobs)) {
        return;
    }
    if (label != 0) {
        mi_jobs_seat *caller = callers_seat(jobs, label);
        if (mi_sleep_is_marked(&caller->sleep_mark) && mi_sleep_unmark(&caller->sleep_mark)) {
            mi_parker_wake(&caller->parker);
        }
    }
}

// Has the engine do something on this thread. Its work is none of the pool's, and finds no seat here.
static bool help_engine(mica_jobs *jobs, mi_jobs_seat *seat) {
    if (jobs->hook.help == NULL) {
        return false;
    }
    if (seat == NULL) {
        return jobs->hook.help(jobs->hook.user);
    }
    seat->here.is_away = true;
    const bool has_helped = jobs->hook.help(jobs->hook.user);
    seat->here.is_away = false;
    return has_helped;
}

// Running.

// What a seat's thread returns to when a job has ended.
typedef struct frame {
    presence without_seat;
    int64_t level;
    uintptr_t label;
    const mi_job_group *returns_to;
} frame;

static void begin(mica_jobs *jobs, mi_jobs_seat *seat, uintptr_t label, const mi_job_group *below, frame *outer) {
    if (seat == NULL) {
        outer->without_seat = (presence){.jobs = jobs};
        appear(&outer->without_seat);
        return;
    }
    outer->level = seat->level;
    outer->label = seat->label;
    outer->returns_to = seat->returns_to;
    seat->level = mi_deque_level(&seat->deque);
    seat->label = label;
    seat->returns_to = below;
    seat->depth++;
}

static void end(mi_jobs_seat *seat, const frame *outer) {
    if (seat == NULL) {
        disappear(&outer->without_seat);
        return;
    }
    seat->depth--;
    seat->returns_to = outer->returns_to;
    seat->label = outer->label;
    seat->level = outer->level;
}

// `below`: see returns_to.
static void run_job(mica_jobs *jobs, mi_jobs_seat *seat, mi_job *job, uintptr_t label, const mi_job_group *below) {
    mi_job_group *group = job->group; // the job may be gone when it has run
    frame outer;
    begin(jobs, seat, label, below, &outer);
    job->function(job);
    end(seat, &outer);
    // And so may the group when its last job has ended.
    mi_jobs_seat *waits = group->seat;
    if (mi_pending_end(&group->pending)) {
        mi_parker_wake(&waits->parker);
    }
}

// The lock is held. NULL: it has ended, or never was.
static kicked_job *find_kicked(const mica_jobs *jobs, mica_key key) {
    return mica_slot_map_find(jobs->kicked, key);
}

// Takes a job that nobody runs out of the list. The lock is held.
static work take_kicked(mica_jobs *jobs, mica_key key) {
    kicked_job *kicked = find_kicked(jobs, key);
    const mica_key next = kicked->next, previous = kicked->previous;
    *(next.generation != 0 ? &find_kicked(jobs, next)->previous : &jobs->last) = previous;
    *(previous.generation != 0 ? &find_kicked(jobs, previous)->next : &jobs->first) = next;
    kicked->is_running = true;
    mi_work_note(&jobs->queued_count, mi_work_noted(&jobs->queued_count) - 1);
    return (work){.is_kicked = true, .key = key, .function = kicked->function, .data = kicked->data};
}

static bool take_first_kicked(mica_jobs *jobs, work *found) {
    if (mi_work_noted(&jobs->queued_count) == 0) {
        return false;
    }
    mi_lock_take(&jobs->lock);
    const bool is_there = jobs->first.generation != 0;
    if (is_there) {
        *found = take_kicked(jobs, jobs->first);
    }
    mi_lock_give(&jobs->lock);
    return is_there;
}

// By a caller as part of its own work, by a worker as nobody's.
static void run_kicked(mica_jobs *jobs, mi_jobs_seat *seat, const work *taken) {
    frame outer;
    begin(jobs, seat, seat != NULL ? seat->label : 0, NULL, &outer);
    taken->function(taken->data);
    end(seat, &outer);
    mi_lock_take(&jobs->lock);
    mica_slot_map_remove(jobs->kicked, taken->key);
    if (jobs->waiting_count > 0) {
        mi_condition_wake_all(&jobs->ended);
    }
    mi_lock_give(&jobs->lock);
}

static void run_work(mi_jobs_seat *seat, const work *found) {
    if (found->is_kicked) {
        run_kicked(seat->jobs, seat, found);
    } else {
        run_job(seat->jobs, seat, found->job, found->label, NULL);
    }
}

// Looking for work.

static bool pop_own(mi_jobs_seat *seat, work *found) {
    found->is_kicked = false;
    found->job = mi_deque_pop(&seat->deque, seat->level, &found->label);
    return found->job != NULL;
}

// Steals from one of the other seats, beginning anywhere so that thieves spread.
static bool steal(mi_jobs_seat *seat, uintptr_t wanted, work *found) {
    mica_jobs *jobs = seat->jobs;
    seat->random = seat->random * UINT32_C(1664525) + UINT32_C(1013904223);
    const uint64_t callers = mi_seats(&jobs->callers);
    const uint32_t workers = (uint32_t)jobs->worker_count;
    const uint32_t count = workers + MICA_JOBS_CALLER_MAX;
    uint32_t at = (uint32_t)((uint64_t)seat->random * count >> 32);
    for (uint32_t i = 0; i < count; i++, at = at + 1 < count ? at + 1 : 0) {
        mi_jobs_seat *victim = &jobs->seats[at];
        // Seats that nobody has are not even touched.
        const bool is_taken = at < workers || (callers >> (at - workers) & 1) != 0;
        if (victim == seat || !is_taken) {
            continue;
        }
        void *item = NULL;
        mi_steal outcome;
        do {
            outcome = mi_deque_steal(&victim->deque, wanted, &item, &found->label);
        } while (outcome == MI_STEAL_LOST);
        if (outcome == MI_STEAL_TAKEN) {
            found->job = item;
            found->is_kicked = false;
            return true;
        }
    }
    return false;
}

// Between two rounds of looking.
static void wait_a_moment(int32_t round) {
    if (round < SPIN_ROUNDS) {
        mi_os_pause();
    } else {
        mi_os_yield();
    }
}

static int32_t hold_off_longer(int32_t hold_off) {
    return 2 * hold_off < HOLD_OFF_MOST ? 2 * hold_off + 8 : HOLD_OFF_MOST;
}

// Whether there is something to be stolen. By one that has said that it sleeps.
static bool can_steal(const mica_jobs *jobs, uintptr_t wanted) {
    const int32_t count = jobs->worker_count + MICA_JOBS_CALLER_MAX;
    for (int32_t i = 0; i < count; i++) {
        if (mi_deque_peek(&jobs->seats[i].deque, wanted) == MI_STEAL_TAKEN) {
            return true;
        }
    }
    return false;
}

static bool look_elsewhere(mi_jobs_seat *worker, work *found) {
    if (++worker->look_count % KICKED_FIRST_EVERY == 0 && take_first_kicked(worker->jobs, found)) {
        return true;
    }
    return steal(worker, MI_LABEL_ANY, found) || take_first_kicked(worker->jobs, found);
}

// Workers.

// Runs what there is until there is nothing.
static void work_through(mi_jobs_seat *worker) {
    work found = {0};
    int32_t hold_off = 0;
    for (int32_t round = 0; round < LOOK_ROUNDS; round++) {
        if (!look_elsewhere(worker, &found)) {
            wait_a_moment(round);
            continue;
        }
        mi_hint_add(&worker->jobs->looking, UINT32_MAX);
        const uint64_t begin = mi_os_nanoseconds();
        do {
            run_work(worker, &found);
        } while (pop_own(worker, &found));
        // Taking from a thread that starts many small jobs holds it up by more than they take.
        hold_off = mi_os_nanoseconds() - begin >= TINY_NANOSECONDS ? 0 : hold_off_longer(hold_off);
        for (int32_t i = 0; i < hold_off; i++) {
            mi_os_pause();
        }
        mi_hint_add(&worker->jobs->looking, 1);
        round = 0;
    }
}

// By a worker that has marked its seat.
static bool has_missed_work(const mica_jobs *jobs) {
    return can_steal(jobs, MI_LABEL_ANY) || mi_work_noted(&jobs->queued_count) > 0;
}

// By one whose mark another thread takes or has taken away. A wake-up may be left over from an earlier wait.
static void sleep_until_unmarked(mi_jobs_seat *worker) {
    do {
        mi_parker_sleep(&worker->parker);
    } while (mi_sleep_is_marked(&worker->sleep_mark));
}

// A thread of the pool's own.
static void run_worker(void *argument) {
    mi_jobs_seat *worker = argument;
    mica_jobs *jobs = worker->jobs;
    appear(&worker->here);
    bool goes_on = true;
    while (goes_on) {
        work_through(worker);
        mark_asleep(worker);
        const bool has_more = has_missed_work(jobs);
        goes_on = has_more || mi_work_noted(&jobs->is_ending) == 0;
        const bool stays_awake = (has_more || !goes_on) && unmark_asleep(worker);
        if (!stays_awake) {
            sleep_until_unmarked(worker);
        }
    }
    disappear(&worker->here);
}

// A thread of the engine's, for as long as there is work. One that has come here while it helps in a wait of this pool
// is there already, and would bring other callers' jobs on top of that wait.
static void run_visit(void *argument) {
    mi_jobs_seat *worker = argument;
    mica_jobs *jobs = worker->jobs;
    const bool is_here = takes_part(jobs);
    do {
        if (!is_here) {
            appear(&worker->here);
            work_through(worker);
            disappear(&worker->here);
        }
        mark_asleep(worker);
    } while (!is_here && has_missed_work(jobs) && unmark_asleep(worker));
    count_visit(jobs, UINT32_MAX);
}

// Groups.

// Makes the job one of the group, which the calling thread opens if nobody has. Returns the thread's seat; NULL: none
// is left.
static mi_jobs_seat *join_group(mica_jobs *jobs, mi_job_group *group, mi_job *job) {
    mi_jobs_seat *seat = seat_here(jobs);
    if (seat == NULL) {
        seat = take_callers_seat(jobs);
    }
    if (group->seat == NULL && seat != NULL) {
        group->seat = seat;
        seat->open_group_count++;
    }
    job->group = group;
    mi_pending_add(&group->pending);
    return seat;
}

void mi_jobs_start(mica_jobs *jobs, mi_job_group *group, mi_job *job) {
    mi_jobs_seat *seat = join_group(jobs, group, job);
    if (seat != NULL && mi_deque_push(&seat->deque, job, seat->label)) {
        wake_one(jobs, seat->label);
    } else {
        run_job(jobs, seat, job, seat != NULL ? seat->label : 0, NULL);
    }
}

void mi_jobs_run(mica_jobs *jobs, mi_job_group *group, mi_job *job) {
    mi_jobs_seat *seat = join_group(jobs, group, job);
    run_job(jobs, seat, job, seat != NULL ? seat->label : 0, group);
}

void mi_jobs_hand_back(mica_jobs *jobs, mi_job_group *group, mi_job *job) {
    mi_jobs_seat *waits = group->seat;
    MI_ASSERT(waits != NULL && waits != seat_here(jobs) && mi_handed_over(&group->handed_back) == NULL);
    (void)jobs;
    job->group = group;
    mi_pending_add(&group->pending);
    mi_hand_over(&group->handed_back, job);
    if (mi_pending_is_marked(&group->pending)) {
        mi_parker_wake(&waits->parker);
    }
}

bool mi_jobs_is_wanted(const mica_jobs *jobs) {
    const mi_jobs_seat *seat = seat_here(jobs);
    return seat != NULL && seat->returns_to != NULL && mi_handed_over(&seat->returns_to->handed_back) != NULL;
}

// By the thread that waits for the group.
static bool take_handed_back(const mi_jobs_seat *seat, mi_job_group *group, work *found) {
    found->job = mi_handed_over(&group->handed_back);
    if (found->job == NULL) {
        return false;
    }
    mi_hand_over(&group->handed_back, NULL);
    found->label = seat->label;
    return true;
}

// Something of the waiting thread's own to do until the group's last job has ended.
static bool look_for_own(mi_jobs_seat *seat, mi_job_group *group, work *found) {
    const bool may_steal = is_outermost(seat);
    for (int32_t round = 0; round < LOOK_ROUNDS && mi_pending_count(&group->pending) > 0; round++) {
        if (take_handed_back(seat, group, found) || pop_own(seat, found) ||
            (may_steal && steal(seat, seat->label, found))) {
            return true;
        }
        wait_a_moment(round);
    }
    return false;
}

// Sleeps until the group's last job has ended, one was handed back, or there may be something to steal.
static void sleep_for(mi_jobs_seat *seat, mi_job_group *group) {
    const bool may_steal = is_outermost(seat);
    if (may_steal) {
        mi_sleep_mark(&seat->sleep_mark);
    }
    if (mi_pending_mark(&group->pending) > 0 && mi_handed_over(&group->handed_back) == NULL &&
        !(may_steal && can_steal(seat->jobs, seat->label))) {
        mi_parker_sleep(&seat->parker);
    }
    if (may_steal) {
        mi_sleep_unmark(&seat->sleep_mark);
    }
}

void mi_jobs_wait(mica_jobs *jobs, mi_job_group *group) {
    mi_jobs_seat *seat = group->seat;
    if (seat == NULL) {
        // Nothing was started, or each job when it was.
        MI_ASSERT(mi_pending_count(&group->pending) == 0);
        return;
    }
    MI_ASSERT(seat == seat_here(jobs));
    while (mi_pending_count(&group->pending) > 0) {
        work found;
        if (look_for_own(seat, group, &found)) {
            run_job(jobs, seat, found.job, found.label, group);
        } else if (mi_pending_count(&group->pending) > 0 && !help_engine(jobs, seat)) {
            sleep_for(seat, group);
        }
    }
    *group = (mi_job_group){0};
    seat->open_group_count--;
    if (seat->own_label != 0 && seat->open_group_count == 0) {
        give_callers_seat(seat);
    }
}

bool mi_jobs_has_idle(const mica_jobs *jobs) {
    if (mi_hint(&jobs->looking) > 0) {
        return true;
    }
    const mi_jobs_seat *seat = seat_here(jobs);
    return seat != NULL && seat->label != 0 && mi_hint(&callers_seat(jobs, seat->label)->sleep_mark) != 0;
}

int32_t mi_jobs_thread(const mica_jobs *jobs) {
    const mi_jobs_seat *seat = seat_here(jobs);
    return seat != NULL ? seat->number : 0;
}

// Making and ending a pool.

static void run_all_kicked(mica_jobs *jobs) {
    work found;
    while (take_first_kicked(jobs, &found)) {
        run_kicked(jobs, NULL, &found);
    }
}

static void end_threads(mica_jobs *jobs) {
    mi_work_note(&jobs->is_ending, 1);
    while (wake_some_worker(jobs)) {
    }
    for (int32_t i = 0; i < jobs->thread_count; i++) {
        mi_thread_join(&jobs->seats[i].thread);
    }
}

// Returns when nothing that the engine was asked for is still to come or going on, and nothing is queued.
static void end_visits(mica_jobs *jobs) {
    bool is_over = false;
    while (!is_over) {
        run_all_kicked(jobs);
        mi_lock_take(&jobs->lock);
        if (jobs->visit_count > 0) {
            mi_lock_give(&jobs->lock);
            const bool has_helped = help_engine(jobs, NULL);
            mi_lock_take(&jobs->lock);
            while (!has_helped && jobs->visit_count > 0) {
                jobs->waiting_count++;
                mi_condition_wait(&jobs->ended, &jobs->lock);
                jobs->waiting_count--;
            }
        }
        is_over = jobs->visit_count == 0 && jobs->first.generation == 0;
        mi_lock_give(&jobs->lock);
    }
}

static int32_t seat_count(const mica_jobs *jobs) {
    return jobs->worker_count + MICA_JOBS_CALLER_MAX;
}

static void free_pool(mica_jobs *jobs, int32_t parker_count) {
    for (int32_t i = 0; i < parker_count; i++) {
        mi_parker_destroy(&jobs->seats[i].parker);
    }
    mica_slot_map_destroy(jobs->kicked);
    const size_t count = (size_t)seat_count(jobs);
    mi_heap_release(&jobs->heap, purpose, jobs->slots, count * DEQUE_CAPACITY * sizeof(mi_deque_slot),
                    MI_CACHE_LINE_SIZE);
    mi_heap_release(&jobs->heap, purpose, jobs->seats, count * sizeof(mi_jobs_seat), _Alignof(mi_jobs_seat));
    mi_heap heap = jobs->heap;
    mi_heap_release(&heap, purpose, jobs, sizeof(*jobs), _Alignof(mica_jobs));
}

// Makes `worker_count` seats for workers, marked as asleep, and those for callers. False: no memory, or no locks.
static bool make_seats(mica_jobs *jobs, int32_t *parker_count) {
    const size_t count = (size_t)seat_count(jobs);
    jobs->seats = mi_heap_allocate_zeroed(&jobs->heap, purpose, count * sizeof(mi_jobs_seat), _Alignof(mi_jobs_seat));
    jobs->slots =
        mi_heap_allocate(&jobs->heap, purpose, count * DEQUE_CAPACITY * sizeof(mi_deque_slot), MI_CACHE_LINE_SIZE);
    jobs->kicked = mica_slot_map_create(sizeof(kicked_job), _Alignof(kicked_job), &jobs->heap.allocator);
    if (jobs->seats == NULL || jobs->slots == NULL || jobs->kicked == NULL) {
        return false;
    }
    for (int32_t i = 0; i < (int32_t)count; i++) {
        mi_jobs_seat *seat = &jobs->seats[i];
        mi_deque_init(&seat->deque, jobs->slots + (size_t)i * DEQUE_CAPACITY, DEQUE_CAPACITY);
        if (!mi_parker_init(&seat->parker)) {
            return false;
        }
        *parker_count = i + 1;
        const bool is_worker = i < jobs->worker_count;
        seat->jobs = jobs;
        seat->number = is_worker ? i + 1 : 0;
        seat->own_label = is_worker ? 0 : (uintptr_t)(i - jobs->worker_count + 1);
        seat->label = seat->own_label;
        seat->here = (presence){.jobs = jobs, .seat = seat};
        seat->random = (uint32_t)i * UINT32_C(2654435769);
    }
    return true;
}

static bool start_threads(mica_jobs *jobs, const char *name) {
    for (; jobs->thread_count < jobs->worker_count; jobs->thread_count++) {
        mi_jobs_seat *worker = &jobs->seats[jobs->thread_count];
        char text[32];
        snprintf(text, sizeof(text), "%.10s %d", name, (int)worker->number);
        if (!mi_thread_start(&worker->thread, text, run_worker, worker)) {
            return false;
        }
    }
    return true;
}

static mica_result check_definition(const mica_jobs_def *def, const char *call) {
    if (def->thread_count < MICA_THREADS_ALL || def->thread_count > MICA_THREADS_MAX) {
        return mi_fail(&def->log, MICA_INVALID, call, "{} is no number of threads: it is 1 to {}, or {} for all",
                       MI_INT(def->thread_count), MI_INT(MICA_THREADS_MAX), MI_INT(MICA_THREADS_ALL));
    }
    if (def->hook.start == NULL && def->hook.help != NULL) {
        return mi_fail_plain(&def->log, MICA_INVALID, call,
                             "the hook has only one of its two functions, and not start");
    }
    return MICA_OK;
}

static int32_t thread_count_of(const mica_jobs_def *def) {
    if (def->thread_count > 0) {
        return def->thread_count;
    }
    const int32_t cores = mi_os_core_count();
    return cores < MICA_THREADS_MAX ? cores : MICA_THREADS_MAX;
}

mica_jobs *mica_jobs_create(const mica_jobs_def *def) {
    static const char call[] = "mica_jobs_create";
    const mica_jobs_def none = {0};
    def = def != NULL ? def : &none;
    if (check_definition(def, call) != MICA_OK) {
        return NULL;
    }
    mi_heap heap;
    if (!mi_heap_init(&heap, &def->allocator)) {
        mi_fail_plain(&def->log, MICA_INVALID, call, "the allocator has only one of its two functions");
        return NULL;
    }
    mica_jobs *jobs = mi_heap_allocate_zeroed(&heap, purpose, sizeof(*jobs), _Alignof(mica_jobs));
    if (jobs == NULL) {
        mi_fail_memory(&def->log, call, sizeof(*jobs));
        return NULL;
    }
    jobs->heap = heap;
    jobs->reference_count = 1;
    jobs->log = def->log;
    jobs->hook = def->hook;
    jobs->worker_count = thread_count_of(def) - 1;
    jobs->looking = (uint32_t)jobs->worker_count;
    int32_t parker_count = 0;
    const bool has_lock = mi_lock_init(&jobs->lock);
    const bool has_condition = has_lock && mi_condition_init(&jobs->ended);
    const bool has_seats = has_condition && make_seats(jobs, &parker_count);
    bool is_made = has_seats;
    if (has_seats && jobs->hook.start != NULL) {
        for (int32_t i = 0; i < jobs->worker_count; i++) {
            mark_asleep(&jobs->seats[i]);
        }
    } else if (has_seats && !start_threads(jobs, def->name != NULL ? def->name : "mica")) {
        mi_fail(&def->log, MICA_LIMIT, call, "the system gives only {} of {} threads", MI_INT(jobs->thread_count),
                MI_INT(jobs->worker_count));
        end_threads(jobs);
        is_made = false;
    } else if (!has_seats) {
        mi_fail_memory(&def->log, call, 0);
    }
    if (is_made) {
        return jobs;
    }
    if (has_condition) {
        mi_condition_destroy(&jobs->ended);
    }
    if (has_lock) {
        mi_lock_destroy(&jobs->lock);
    }
    free_pool(jobs, parker_count);
    return NULL;
}

mica_jobs *mica_jobs_retain(mica_jobs *jobs) {
    if (jobs == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_jobs_retain", "no pool is given");
        return NULL;
    }
    mi_reference_take(&jobs->reference_count);
    return jobs;
}

void mica_jobs_release(mica_jobs *jobs) {
    if (jobs == NULL || !mi_reference_give(&jobs->reference_count)) {
        return;
    }
    if (takes_part(jobs)) {
        mi_reference_take(&jobs->reference_count);
        mi_fail_plain(&jobs->log, MICA_LOCKED, "mica_jobs_release", "a job of the pool cannot end it");
        return;
    }
    run_all_kicked(jobs);
    if (jobs->hook.start != NULL) {
        end_visits(jobs);
    } else {
        end_threads(jobs);
    }
    mi_condition_destroy(&jobs->ended);
    mi_lock_destroy(&jobs->lock);
    free_pool(jobs, seat_count(jobs));
}

int32_t mica_jobs_thread_count(const mica_jobs *jobs) {
    if (jobs == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, "mica_jobs_thread_count", "no pool is given");
        return 0;
    }
    return jobs->worker_count + 1;
}

// Jobs that span frames.

mica_job mica_job_start(mica_jobs *jobs, void (*function)(void *data), void *data) {
    static const char call[] = "mica_job_start";
    if (jobs == NULL || function == NULL) {
        mi_fail(jobs != NULL ? &jobs->log : NULL, MICA_INVALID, call, "no {} is given",
                MI_TEXT(jobs == NULL ? "pool" : "function"));
        return (mica_job){0};
    }
    mi_lock_take(&jobs->lock);
    const kicked_job value = {.function = function, .data = data, .previous = jobs->last};
    const mica_key key = mica_slot_map_insert(jobs->kicked, &value);
    if (key.generation != 0) {
        *(jobs->last.generation != 0 ? &find_kicked(jobs, jobs->last)->next : &jobs->first) = key;
        jobs->last = key;
        mi_work_note(&jobs->queued_count, mi_work_noted(&jobs->queued_count) + 1);
    }
    mi_lock_give(&jobs->lock);
    if (key.generation == 0) {
        mi_fail_memory(&jobs->log, call, 0);
        return (mica_job){0};
    }
    wake_one(jobs, 0);
    return (mica_job){key.index, key.generation};
}

// Whether a handle that finds no job had one. The lock is held.
static bool was_issued(const mica_jobs *jobs, mica_key key) {
    const mica_slot_map *kicked = jobs->kicked;
    if (key.generation == 0 || key.index >= kicked->slots.count) {
        return false;
    }
    // A slot has the generation of its next key; one that is used up, that of its last.
    const uint32_t generation = kicked->slots.data[key.index].generation;
    return key.generation < generation || (key.generation == generation && generation >= kicked->generation_limit);
}

static mica_result fail_stale(const mica_jobs *jobs, const char *call) {
    return mi_fail_plain(&jobs->log, MICA_STALE, call, "the handle is null or none of this pool");
}

bool mica_job_done(mica_jobs *jobs, mica_job job) {
    static const char call[] = "mica_job_done";
    if (jobs == NULL) {
        mi_fail_plain(NULL, MICA_INVALID, call, "no pool is given");
        return false;
    }
    const mica_key key = {job.index, job.generation};
    mi_lock_take(&jobs->lock);
    const kicked_job *kicked = find_kicked(jobs, key);
    const bool is_done = kicked == NULL && was_issued(jobs, key);
    const bool is_stale = kicked == NULL && !is_done;
    // Nobody else will ever run it.
    const bool is_ours = kicked != NULL && !kicked->is_running && jobs->worker_count == 0;
    const work taken = is_ours ? take_kicked(jobs, key) : (work){0};
    mi_lock_give(&jobs->lock);
    if (is_ours) {
        run_kicked(jobs, seat_here(jobs), &taken);
    } else if (is_stale) {
        fail_stale(jobs, call);
    }
    return is_done || is_ours;
}

// Sleeps until a job that somebody runs has ended.
static void sleep_for_kicked(mica_jobs *jobs, mica_key key) {
    mi_lock_take(&jobs->lock);
    jobs->waiting_count++;
    while (find_kicked(jobs, key) != NULL) {
        mi_condition_wait(&jobs->ended, &jobs->lock);
    }
    jobs->waiting_count--;
    mi_lock_give(&jobs->lock);
}

mica_result mica_job_wait(mica_jobs *jobs, mica_job job) {
    static const char call[] = "mica_job_wait";
    if (jobs == NULL) {
        return mi_fail_plain(NULL, MICA_INVALID, call, "no pool is given");
    }
    const mica_key key = {job.index, job.generation};
    mi_jobs_seat *seat = seat_here(jobs);
    for (;;) {
        mi_lock_take(&jobs->lock);
        const kicked_job *kicked = find_kicked(jobs, key);
        const bool is_done = kicked == NULL && was_issued(jobs, key);
        const bool is_running = kicked != NULL && kicked->is_running;
        work found = kicked != NULL && !is_running ? take_kicked(jobs, key) : (work){0};
        mi_lock_give(&jobs->lock);
        if (kicked == NULL) {
            return is_done ? MICA_OK : fail_stale(jobs, call);
        }
        if (!is_running) {
            run_kicked(jobs, seat, &found);
        } else if (seat != NULL && pop_own(seat, &found)) {
            run_job(jobs, seat, found.job, found.label, NULL);
        } else if (!help_engine(jobs, seat)) {
            sleep_for_kicked(jobs, key);
        }
    }
}
