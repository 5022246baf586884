// Systems on one thread and on two: a loop that is shared out, frames of many small systems, and systems that conflict
// at random.
//
// The limits do the same work on one thread: plain loops over arrays, and calls by pointer. threads/overhead is what a
// loop costs beyond its work: the time of plain loops over the same rows, in the world's own memory, is taken away from
// it; two threads, of the same pool, do half of them each. threads/share is no time: how many rows of a loop the thread
// visits that visits most, in the middle one of many ticks, beside an equal share.
#include "rows.h"
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>

enum { KIND_COUNT = 32, TABLE_ROWS = 3, WORK_STEPS = 200, SMALL_STEPS = 600 };

MICA_STRUCT(Work, { float value; });

// Loops over rows

static inline float work_hard(float value) {
    for (int32_t i = 0; i < WORK_STEPS; i++) {
        value = value * 0.999f + 0.001f * (value - value * value);
    }
    return value;
}

static void work_hard_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    Work *work = mica_write_of(*span, Work);
    for (int32_t i = 0; i < span->count; i++) {
        work[i].value = work_hard(work[i].value);
    }
}

static void add_span(mica_run *run, mica_iter *span, void *user) {
    (void)run;
    (void)user;
    Work *work = mica_write_of(*span, Work);
    for (int32_t i = 0; i < span->count; i++) {
        work[i].value += 1;
    }
}

static void run_hard(mica_run *run) {
    mica_parallel_for(run, NULL, work_hard_span, NULL);
}

static void run_light(mica_run *run) {
    mica_parallel_for(run, NULL, add_span, NULL);
}

// A span of a walk.
typedef struct work_rows {
    Work *work;
    int32_t count;
} work_rows;

// What a system changes, on a cache line of its own.
typedef struct system_count {
    _Alignas(64) uint64_t value;
} system_count;

typedef struct threaded {
    mica_world *world; // NULL: the limit
    float *values;
    work_rows *spans;
    int32_t span_count;
    mica_jobs *jobs;      // the world's; NULL: it has one thread
    system_count *counts; // of calls, by system
    mica_query *query;
    uint32_t n;
} threaded;

static void tear_down(void *context) {
    threaded *state = context;
    mica_query_release(state->query);
    mica_world_destroy(state->world);
    mica_jobs_release(state->jobs);
    free(state->values);
    free(state->spans);
    free(state->counts);
    free(state);
}

static threaded *begin(int64_t n, int32_t thread_count) {
    threaded *state = calloc(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->n = (uint32_t)n;
    if (thread_count > 0) {
        state->jobs = thread_count > 1 ? mica_jobs_create(&(mica_jobs_def){.thread_count = thread_count}) : NULL;
        state->world = mica_world_create(&(mica_world_def){.jobs = state->jobs});
        if (state->world == NULL || (thread_count > 1 && state->jobs == NULL)) {
            tear_down(state);
            return NULL;
        }
    }
    return state;
}

static mica_type *kind_type(uint32_t kind);

// `rows_a_table` 0: all in one.
static void *rows_set_up(int64_t n, int32_t thread_count, void (*run)(mica_run *run), uint32_t rows_a_table) {
    threaded *state = begin(n, thread_count);
    if (state == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        const mica_entity entity = mica_spawn(state->world, mica_value_of(Work, {0.5f}));
        const uint32_t table = rows_a_table == 0 ? 0 : i / rows_a_table;
        for (uint32_t bit = 0; table >> bit != 0; bit++) {
            if ((table >> bit & 1) != 0) {
                mica_entity_add(state->world, entity, mica_world_component(state->world, kind_type(bit)), NULL);
            }
        }
    }
    state->query = mica_query_create(state->world, (const mica_term[]){mica_read(Work)}, 1);
    mica_system_add(state->world, &(mica_system_def){.name = "work", .run = run, .query = {mica_write(Work)}});
    return state;
}

static void tick(void *context) {
    const threaded *state = context;
    mica_world_step(state->world, 1);
}

static uint64_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t rows_check(void *context) {
    const threaded *state = context;
    uint64_t sum = 0;
    mica_each (state->query, it) {
        const Work *work = mica_read_of(it, Work);
        for (int32_t i = 0; i < it.count; i++) {
            sum = bench_mix(sum, bits_of(work[i].value));
        }
    }
    return sum;
}

static void *values_set_up(int64_t n) {
    threaded *state = begin(n, 0);
    if (state == NULL) {
        return NULL;
    }
    state->values = malloc((size_t)n * sizeof *state->values);
    if (state->values == NULL) {
        tear_down(state);
        return NULL;
    }
    for (uint32_t i = 0; i < state->n; i++) {
        state->values[i] = 0.5f;
    }
    return state;
}

static void values_work_hard(void *context) {
    const threaded *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        state->values[i] = work_hard(state->values[i]);
    }
}

// As few at a time as a table has.
static void values_work_hard_by_table(void *context) {
    const threaded *state = context;
    uint32_t rows = TABLE_ROWS;
    for (uint32_t first = 0; first < state->n; first += rows) {
        MICA_OPAQUE(rows);
        for (uint32_t i = first; i < first + rows && i < state->n; i++) {
            state->values[i] = work_hard(state->values[i]);
        }
    }
}

static void values_add(void *context) {
    const threaded *state = context;
    for (uint32_t i = 0; i < state->n; i++) {
        state->values[i] += 1;
    }
}

static uint64_t values_check(void *context) {
    const threaded *state = context;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        sum = bench_mix(sum, bits_of(state->values[i]));
    }
    return sum;
}

// What a loop costs beyond its work

// Both sides of a row work on one state, so that neither finds its memory nearer than the other.
static threaded *paired;
static int32_t paired_count;

static void paired_tear_down(void *context) {
    if (--paired_count == 0) {
        tear_down(context);
        paired = NULL;
    }
}

static bool list_spans(threaded *state) {
    mica_query *query = mica_query_create(state->world, (const mica_term[]){mica_write(Work)}, 1);
    state->spans = malloc(((size_t)state->n + 1) * sizeof *state->spans);
    if (query == NULL || state->spans == NULL) {
        mica_query_release(query);
        return false;
    }
    mica_each (query, it) {
        state->spans[state->span_count++] = (work_rows){mica_write_of(it, Work), it.count};
    }
    mica_query_release(query);
    return true;
}

static void *paired_set_up(int64_t n, int32_t thread_count) {
    if (paired == NULL) {
        paired = rows_set_up(n, thread_count, run_light, 0);
        if (paired == NULL) {
            return NULL;
        }
        if (!list_spans(paired)) {
            tear_down(paired);
            paired = NULL;
            return NULL;
        }
    }
    paired_count++;
    return paired;
}

static void *paired_set_up_1(int64_t n) {
    return paired_set_up(n, 1);
}

static void *paired_set_up_2(int64_t n) {
    return paired_set_up(n, 2);
}

static void add_to_spans(const work_rows *spans, int32_t count) {
    for (int32_t k = 0; k < count; k++) {
        for (int32_t i = 0; i < spans[k].count; i++) {
            spans[k].work[i].value += 1;
        }
    }
}

static void add_second_half(void *context) {
    const threaded *state = context;
    add_to_spans(state->spans + state->span_count / 2, state->span_count - state->span_count / 2);
}

static void spans_add(void *context) {
    threaded *state = context;
    if (state->jobs == NULL) {
        add_to_spans(state->spans, state->span_count);
        return;
    }
    const mica_job half = mica_job_start(state->jobs, add_second_half, state);
    add_to_spans(state->spans, state->span_count / 2);
    (void)mica_job_wait(state->jobs, half);
}

// How loops are shared out

enum { SHARE_TICKS = 101, SHARE_THREADS = 2 };

static void *shared_set_up(int64_t n, uint32_t rows_a_table) {
    return rows_set_up(n, SHARE_THREADS, run_hard, rows_a_table);
}

static void *shared_tables_set_up(int64_t n) {
    return shared_set_up(n, TABLE_ROWS);
}

static void *shared_table_set_up(int64_t n) {
    return shared_set_up(n, 0);
}

static void note_busiest(const mica_trace_event *event, void *user) {
    uint64_t *busiest = user;
    if (event->kind == MICA_TRACE_LOOP && event->entity_count > *busiest) {
        *busiest = event->entity_count;
    }
}

static int compare_counts(const void *a, const void *b) {
    const uint64_t count_a = *(const uint64_t *)a;
    const uint64_t count_b = *(const uint64_t *)b;
    return (count_a > count_b) - (count_a < count_b);
}

static uint64_t shared_weigh(void *context) {
    const threaded *state = context;
    uint64_t busiest[SHARE_TICKS];
    tick(context); // tells what rows take
    mica_trace_begin(state->world, 0);
    for (int32_t i = 0; i < SHARE_TICKS; i++) {
        busiest[i] = 0;
        tick(context);
        mica_trace_take(state->world, note_busiest, &busiest[i]);
        busiest[i] = busiest[i] == 0 ? state->n : busiest[i]; // it ran on one thread
    }
    mica_trace_end(state->world);
    qsort(busiest, SHARE_TICKS, sizeof *busiest, compare_counts);
    return busiest[SHARE_TICKS / 2];
}

static void *share_set_up(int64_t n) {
    return begin(n, 0);
}

static uint64_t share_weigh(void *context) {
    const threaded *state = context;
    return state->n / SHARE_THREADS;
}

// Many systems

// clang-format off
#define KINDS(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15) \
    DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23) DO(24) DO(25) DO(26) DO(27) DO(28) DO(29) DO(30) DO(31)
// clang-format on
#define DEFINE_KIND(N) MICA_STRUCT(Kind##N, { int32_t value; });
KINDS(DEFINE_KIND)
#define KIND_TYPE(N) mica_type_of(Kind##N),
static mica_type *const kinds[KIND_COUNT] = {KINDS(KIND_TYPE)};

static mica_type *kind_type(uint32_t kind) {
    return kinds[kind];
}

static void count_call(uint64_t *count) {
    ++*count;
}

// About a microsecond.
static void count_slowly(uint64_t *count) {
    uint64_t value = *count + 1;
    for (int32_t i = 0; i < SMALL_STEPS; i++) {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    *count = value;
}

static void run_count(mica_run *run) {
    count_call(mica_run_user(run));
}

static void run_slowly(mica_run *run) {
    count_slowly(mica_run_user(run));
}

typedef enum conflicts { CONFLICTS_NONE, CONFLICTS_ALL, CONFLICTS_RANDOM } conflicts;

static void *systems_set_up(int64_t n, int32_t thread_count, void (*run)(mica_run *run), conflicts conflict) {
    threaded *state = begin(n, thread_count);
    if (state == NULL) {
        return NULL;
    }
    state->counts = aligned_alloc(_Alignof(system_count), (size_t)n * sizeof *state->counts);
    if (state->counts == NULL) {
        tear_down(state);
        return NULL;
    }
    memset(state->counts, 0, (size_t)n * sizeof *state->counts);
    uint64_t random = 1;
    for (uint32_t i = 0; state->world != NULL && i < state->n; i++) {
        char name[32];
        snprintf(name, sizeof name, "system %u", (unsigned)i);
        mica_system_def def = {.name = name, .run = run, .user = &state->counts[i].value};
        random = bench_mix(random, i);
        const uint32_t written = conflict == CONFLICTS_RANDOM ? (uint32_t)(random % KIND_COUNT) : 0;
        const uint32_t read = conflict == CONFLICTS_RANDOM ? (uint32_t)(random / KIND_COUNT % KIND_COUNT) : written;
        def.query[0] =
            (mica_term){.type = kinds[written], .use = conflict == CONFLICTS_NONE ? MICA_USE_READ : MICA_USE_WRITE};
        if (read != written) {
            def.query[1] = (mica_term){.type = kinds[read], .use = MICA_USE_READ};
        }
        mica_system_add(state->world, &def);
    }
    return state;
}

static void call_all(const threaded *state, void (*function)(uint64_t *count)) {
    MICA_OPAQUE(function);
    for (uint32_t i = 0; i < state->n; i++) {
        function(&state->counts[i].value);
    }
}

static void calls_run(void *context) {
    call_all(context, count_call);
}

static void slow_calls_run(void *context) {
    call_all(context, count_slowly);
}

static void *calls_set_up(int64_t n) {
    return systems_set_up(n, 0, NULL, CONFLICTS_NONE);
}

static uint64_t counts_check(void *context) {
    const threaded *state = context;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state->n; i++) {
        sum = bench_mix(sum, state->counts[i].value);
    }
    return sum;
}

// Rows

#define SIDES(NAME, SET_UP, CHECK, ...)                                                  \
    static void *NAME##_set_up_1(int64_t n) {                                            \
        return SET_UP(n, 1, __VA_ARGS__);                                                \
    }                                                                                    \
    static void *NAME##_set_up_2(int64_t n) {                                            \
        return SET_UP(n, 2, __VA_ARGS__);                                                \
    }                                                                                    \
    static const bench_side NAME##_1 = {                                                 \
        .set_up = NAME##_set_up_1, .run = tick, .check = CHECK, .tear_down = tear_down}; \
    static const bench_side NAME##_2 = {                                                 \
        .set_up = NAME##_set_up_2, .run = tick, .check = CHECK, .tear_down = tear_down, .has_threads = true};

SIDES(hard, rows_set_up, rows_check, run_hard, 0)
SIDES(light, rows_set_up, rows_check, run_light, 0)
SIDES(tables, rows_set_up, rows_check, run_hard, TABLE_ROWS)
SIDES(apart, systems_set_up, counts_check, run_count, CONFLICTS_NONE)
SIDES(chain, systems_set_up, counts_check, run_count, CONFLICTS_ALL)
SIDES(mixed, systems_set_up, counts_check, run_slowly, CONFLICTS_RANDOM)

static const bench_side hard_limit = {
    .set_up = values_set_up, .run = values_work_hard, .check = values_check, .tear_down = tear_down};
static const bench_side tables_limit = {
    .set_up = values_set_up, .run = values_work_hard_by_table, .check = values_check, .tear_down = tear_down};
static const bench_side light_limit = {
    .set_up = values_set_up, .run = values_add, .check = values_check, .tear_down = tear_down};
static const bench_side paired_1 = {
    .set_up = paired_set_up_1, .run = tick, .check = rows_check, .tear_down = paired_tear_down};
static const bench_side paired_2 = {
    .set_up = paired_set_up_2, .run = tick, .check = rows_check, .tear_down = paired_tear_down, .has_threads = true};
static const bench_side spans_1 = {.set_up = paired_set_up_1,
                                   .run = spans_add,
                                   .check = rows_check,
                                   .tear_down = paired_tear_down,
                                   .is_baseline = true};
static const bench_side spans_2 = {.set_up = paired_set_up_2,
                                   .run = spans_add,
                                   .check = rows_check,
                                   .tear_down = paired_tear_down,
                                   .is_baseline = true,
                                   .has_threads = true};
static const bench_side shared_tables = {
    .set_up = shared_tables_set_up, .tear_down = tear_down, .weigh = shared_weigh, .has_threads = true};
static const bench_side shared_table = {
    .set_up = shared_table_set_up, .tear_down = tear_down, .weigh = shared_weigh, .has_threads = true};
static const bench_side share = {.set_up = share_set_up, .tear_down = tear_down, .weigh = share_weigh};
static const bench_side calls_limit = {
    .set_up = calls_set_up, .run = calls_run, .check = counts_check, .tear_down = tear_down};
static const bench_side slow_calls_limit = {
    .set_up = calls_set_up, .run = slow_calls_run, .check = counts_check, .tear_down = tear_down};

static const bench_row rows[] = {
    {"threads/2", "main", 100000, "ns/row", 100000, &hard_2, &hard_limit},
    {"threads/2", "one thread", 100000, "ns/row", 100000, &hard_1, &hard_limit},
    {"threads/light", "main", 1000000, "ns/row", 1000000, &light_2, &light_limit},
    {"threads/light", "one thread", 1000000, "ns/row", 1000000, &light_1, &light_limit},
    {"threads/tables", "main", 3000, "ns/row", 3000, &tables_2, &tables_limit},
    {"threads/tables", "one thread", 3000, "ns/row", 3000, &tables_1, &tables_limit},
    {"threads/overhead", "main", 1000000, "us/loop", 1, &paired_2, &spans_2},
    {"threads/overhead", "one thread", 1000000, "us/loop", 1, &paired_1, &spans_1},
    {"threads/share", "main", 3000, "rows", 1, &shared_tables, &share},
    {"threads/share", "one table", 1000, "rows", 1, &shared_table, &share},
    {"schedule/100", "main", 100, "us/frame", 1, &apart_1, &calls_limit},
    {"schedule/100", "two threads", 100, "us/frame", 1, &apart_2, &calls_limit},
    {"schedule/100", "chain", 100, "us/frame", 1, &chain_1, &calls_limit},
    {"schedule/100", "chain, two threads", 100, "us/frame", 1, &chain_2, &calls_limit},
    {"schedule/1000", "main", 1000, "us/frame", 1, &mixed_2, &slow_calls_limit},
    {"schedule/1000", "one thread", 1000, "us/frame", 1, &mixed_1, &slow_calls_limit},
};

const bench_family bench_threads = {rows, (int32_t)(sizeof rows / sizeof *rows)};
